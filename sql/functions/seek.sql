/*
 * Moves a group to a place (see gapless.check_start), in every partition, in p_partition only, or in those
 * that offsets name. Each event from there on is delivered, again where it was before: open leases are fenced,
 * retries and the dead letters from there on are gone, and the counts begin anew. Dead letters before
 * it stay; one that was on its way again is dead again.
 *
 * removed_dead_letters counts those that nobody had decided about, as gapless.list_dead_letters lists them; those
 * redriven or discarded before are gone too, and not counted.
 *
 * p_dry_run changes nothing and returns the same. Raises GP001, GP003, GP004, GP005, GP010, and GP011 for a cancelled group.
 *
 * The lock of the topic's retention lets the new position and a trim see each other.
 */
create or replace function gapless.seek(
  p_topic text,
  p_group text,
  p_to jsonb,
  p_partition integer default null,
  p_dry_run boolean default false,
  p_actor text default null
)
returns table (
  partition_id integer,
  from_position bigint,
  to_position bigint,
  fenced_leases integer,
  removed_dead_letters bigint
)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_to jsonb := gapless.check_start(p_to, 'to');
  v_found record := gapless.find_subscription(p_topic, p_group);
  v_topic gapless.topic := v_found.topic;
  v_subscription gapless.subscription := v_found.subscription;
  v_partitions integer[];
  v_targets bigint[];
  v_state gapless.consumer_offset;
  v_lease_id bigint;
  v_open int8multirange;
begin
  p_dry_run := coalesce(p_dry_run, false);
  if p_partition is not null then
    v_topic := gapless.find_partition(p_topic, p_partition);
  end if;
  if v_to ? 'offsets' then
    select array_agg(k::integer order by k::integer) into v_partitions from jsonb_object_keys(v_to -> 'offsets') k;
    if exists (
      select from unnest(v_partitions) p where p >= v_topic.partitions or p <> coalesce(p_partition, p)
    ) then
      raise exception using
        errcode = 'GP003',
        message = 'to names offsets of other partitions',
        detail = json_build_object('field', 'to', 'partitions', v_topic.partitions)::text;
    end if;
  else
    v_partitions := array(select generate_series(coalesce(p_partition, 0), coalesce(p_partition, v_topic.partitions - 1)));
  end if;
  if not p_dry_run then
    perform pg_advisory_xact_lock(gapless.lock_key(7, v_topic.topic_id, 0));
    v_found := gapless.lock_subscription(p_topic, p_group);
    v_subscription := v_found.subscription;
    if (v_found.topic).topic_id <> v_topic.topic_id then
      raise exception using errcode = 'GP001', message = 'the topic was deleted';
    end if;
  end if;
  perform gapless.refuse_cancelled(v_subscription, 'GP011');
  v_targets := array(
    select gapless.start_offset(v_topic, p.id, v_to, 'to') from unnest(v_partitions) with ordinality as p(id, place) order by p.place
  );
  if not p_dry_run then
    perform gapless.lock_group(v_subscription.subscription_id, v_partitions);
  end if;
  for i in 1 .. cardinality(v_partitions) loop
    v_state := gapless.newest_position(v_subscription.subscription_id, v_partitions[i]);
    partition_id := v_partitions[i];
    from_position := v_state.position;
    to_position := v_targets[i];
    fenced_leases := cardinality(v_state.leases);
    removed_dead_letters := (
      select count(*)
      from gapless.dead_letter d
      where d.subscription_id = v_state.subscription_id and d.partition_id = v_state.partition_id
        and d.status = 'dead' and d.log_offset >= v_targets[i]
    );
    return next;
    continue when p_dry_run;
    select coalesce(range_agg(o.run), '{}') into v_open
    from (
      select unnest(l.items) as run
      from gapless.find_leases(v_state.subscription_id, v_state.partition_id, v_state.leases) l
      union all
      select int8range(r.from_offset, r.to_offset, '[]')
      from gapless.retry_event r
      where r.subscription_id = v_state.subscription_id and r.partition_id = v_state.partition_id
    ) o;
    foreach v_lease_id in array v_state.leases loop
      v_state := gapless.end_lease(v_subscription, v_state, v_lease_id, 'fenced');
    end loop;
    delete from gapless.retry_event r
    where r.subscription_id = v_state.subscription_id and r.partition_id = v_state.partition_id;
    delete from gapless.dead_letter d
    where d.subscription_id = v_state.subscription_id and d.partition_id = v_state.partition_id
      and d.log_offset >= v_targets[i];
    update gapless.dead_letter d
    set status = 'dead', updated_at = gapless.clock()
    where d.subscription_id = v_state.subscription_id and d.partition_id = v_state.partition_id
      and d.status = 'redriven' and v_open @> d.log_offset;
    v_state.acked := 0;
    v_state.skipped := 0;
    v_state.in_flight := 0;
    v_state.retrying := 0;
    v_state.dead := (
      select count(*)
      from gapless.dead_letter d
      where d.subscription_id = v_state.subscription_id and d.partition_id = v_state.partition_id
        and d.status in ('dead', 'discarded')
    );
    v_state.position := v_targets[i];
    v_state.counted_from := v_state.position - v_state.dead;
    v_state.started_from := v_state.position;
    perform gapless.append_position(v_state);
  end loop;
  if not p_dry_run then
    perform gapless.audit(p_actor, 'seek', p_topic, p_group, jsonb_strip_nulls(jsonb_build_object(
      'to', v_to, 'partition', p_partition, 'positions', to_jsonb(v_targets)
    )));
    perform gapless.wake_group(v_subscription.subscription_id);
  end if;
end
$$;
