/*
 * Applies a topic's retention to one log now, and returns whether its earliest offset moved; null while there is more to
 * count for max_bytes.
 *
 * What is older than retention_seconds goes once no ACTIVE or PAUSED subscription needs it. What is older than
 * max_retention_seconds, or not among the newest events of the log that fit into max_bytes, goes in any
 * case; each subscription that still needed some of it is noted in the audit log. Settings that are null do
 * nothing. A transaction goes as a whole, so some of one may stay longer.
 *
 * The lock of the topic's retention lets this and new starts of subscriptions see each other; it is tried only, so a
 * log whose topic is in use is left for the next time. Notes (gapless.note) how many events went, apart from those that
 * a subscription still needed.
 */
create or replace function gapless.retain_log(p_topic_id integer, p_partition integer)
returns boolean
language plpgsql
set enable_seqscan = off
as $$
declare
  v_topic gapless.topic;
  v_check gapless.retention_check;
  v_now timestamptz := gapless.clock();
  v_earliest bigint;
  v_tip bigint;
  v_floor bigint;
  v_needed bigint;
  v_to bigint;
  v_old bigint;
  v_sized bigint;
  v_aged boolean;
  v_due timestamptz;
  v_counting boolean := false;
begin
  -- Everybody who waits for the lock waits until all of a step is done.
  if not gapless.may_retain(p_topic_id, p_partition) then
    return false;
  end if;
  if not pg_try_advisory_xact_lock(gapless.lock_key(7, p_topic_id, 0)) then
    return false;
  end if;
  select * into v_topic from gapless.topic t where t.topic_id = p_topic_id and t.deleted_at is null;
  if not found then
    return false;
  end if;
  select * into v_check
  from gapless.retention_check c
  where c.topic_id = p_topic_id and c.partition_id = p_partition;
  v_earliest := gapless.log_earliest(p_topic_id, p_partition);
  v_aged := coalesce(v_check.due_at <= v_now, true);
  if v_aged then
    v_floor := gapless.retention_floor(p_topic_id, p_partition);
  end if;
  v_tip := (select t.log_offset from gapless.log_tip(p_topic_id, p_partition) t);
  v_to := v_earliest;
  if v_aged and v_earliest <= v_tip then
    if v_topic.retention_seconds is not null and coalesce(v_floor > v_earliest, true) then
      v_to := least(
        gapless.offset_at(v_topic.name, p_partition, v_now - make_interval(secs => v_topic.retention_seconds)), v_floor
      );
    end if;
    if v_topic.max_retention_seconds is not null then
      v_old := gapless.offset_at(
        v_topic.name, p_partition, v_now - make_interval(secs => v_topic.max_retention_seconds)
      );
    end if;
  end if;
  if v_topic.max_bytes is not null and v_tip is distinct from v_check.sized_to then
    v_sized := gapless.offset_by_size(p_topic_id, p_partition, v_topic.max_bytes);
    v_counting := v_sized is null;
  end if;
  v_to := gapless.transaction_start(p_topic_id, p_partition, greatest(v_earliest, v_to, v_old, v_sized), v_earliest);

  if v_to > v_earliest then
    -- Before the log begins later: what a group has leased of it is not needed from then on.
    v_needed := gapless.retention_floor(p_topic_id, p_partition);
    insert into gapless.log_start as s (topic_id, partition_id, earliest)
    values (p_topic_id, p_partition, v_to)
    on conflict (topic_id, partition_id) do update set earliest = greatest(s.earliest, excluded.earliest);
    v_floor := least(coalesce(v_needed, v_to), v_to);
    perform gapless.note('trimmed', greatest(v_floor, v_earliest) - v_earliest);
    perform gapless.note('trimmed_forced', v_to - greatest(v_floor, v_earliest));
    if greatest(v_old, v_sized) > v_needed then
      perform gapless.audit_losses(
        v_topic, p_partition, v_earliest, v_to,
        case when greatest(v_old, v_sized) = v_old then 'max_retention_seconds' else 'max_bytes' end
      );
    end if;
  end if;

  -- A log that holds nothing is looked at again when what is published now can be old enough.
  v_due := coalesce(
    (select e.published_at from gapless.read_range(p_topic_id, p_partition, v_to, 1, 0) e), v_now
  ) + make_interval(secs => least(v_topic.retention_seconds, v_topic.max_retention_seconds));
  v_due := coalesce(v_due, 'infinity');
  v_tip := case when v_to >= v_sized or v_tip = v_check.sized_to then v_tip else 0 end;
  if (v_due, v_tip) is distinct from (v_check.due_at, v_check.sized_to) then
    insert into gapless.retention_check as c (topic_id, partition_id, due_at, sized_to)
    values (p_topic_id, p_partition, v_due, v_tip)
    on conflict (topic_id, partition_id) do update set due_at = excluded.due_at, sized_to = excluded.sized_to;
  end if;
  return case when not v_counting then v_to > v_earliest end;
end
$$;
