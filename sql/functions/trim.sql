/*
 * Makes the events of a log before p_before unreadable and returns its earliest offset.
 *
 * Only ever moves forward, and not beyond tip + 1; a second call changes nothing. The segments that
 * hold trimmed events are a matter of retention, not of this function. Noted in the audit log, by p_actor; and how many went,
 * apart from those that a subscription still needed (gapless.note). Raises GP001, GP003, GP004.
 */
create or replace function gapless.trim(
  p_topic text,
  p_partition integer,
  p_before bigint,
  p_actor text default null
)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_topic gapless.topic := gapless.find_partition(p_topic, p_partition);
  v_before bigint;
  v_earliest bigint;
  v_floor bigint;
begin
  if p_before is null or p_before < 1 then
    raise exception using errcode = 'GP003', message = 'before must be 1 or more', detail = '{"field":"before"}';
  end if;
  -- Lets this and new starts of subscriptions see each other.
  perform pg_advisory_xact_lock(gapless.lock_key(7, v_topic.topic_id, 0));
  select least(p_before, t.log_offset + 1) into v_earliest
  from gapless.log_tip(v_topic.topic_id, p_partition) t;
  v_before := gapless.log_earliest(v_topic.topic_id, p_partition);
  if v_earliest <= v_before then
    return v_before;
  end if;
  -- Before the log begins later: what a group has leased of it is not needed from then on.
  v_floor := gapless.retention_floor(v_topic.topic_id, p_partition);
  insert into gapless.log_start as s (topic_id, partition_id, earliest)
  values (v_topic.topic_id, p_partition, v_earliest)
  on conflict (topic_id, partition_id) do update
  set earliest = greatest(s.earliest, excluded.earliest)
  returning earliest into v_earliest;
  perform gapless.audit(
    p_actor, 'trim', p_topic, null, jsonb_build_object('partition', p_partition, 'earliest', v_earliest)
  );
  v_floor := greatest(coalesce(v_floor, v_earliest), v_before);
  perform gapless.note('trimmed', least(v_floor, v_earliest) - v_before);
  perform gapless.note('trimmed_forced', v_earliest - v_floor);
  return v_earliest;
end
$$;
