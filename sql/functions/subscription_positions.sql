/*
 * What a group is at in each partition, in their order. Raises GP001, GP010.
 *
 * Counts are in events: waiting were never claimed, in_flight are leased, retrying will be delivered
 * again; lag is all three. skipped are those that retention took from under the group.
 *
 * Everything below floor is done. blocked: a dead letter holds up the partition, or a key of it.
 * oldest_claimable_at is when the oldest event was published that waits or whose retry is due; next_due_at,
 * when a lease expires or a retry becomes due next.
 */
create or replace function gapless.subscription_positions(p_topic text, p_group text)
returns table (
  partition_id integer,
  earliest bigint,
  tip bigint,
  "position" bigint,
  floor bigint,
  lag bigint,
  waiting bigint,
  in_flight bigint,
  retrying bigint,
  dead bigint,
  discarded bigint,
  acked bigint,
  skipped bigint,
  blocked boolean,
  oldest_claimable_at timestamptz,
  next_due_at timestamptz
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_found record := gapless.find_subscription(p_topic, p_group);
  v_topic gapless.topic := v_found.topic;
  v_subscription gapless.subscription := v_found.subscription;
  v_now timestamptz := gapless.clock();
  v_state gapless.consumer_offset;
  v_leased_from bigint;
  v_expires_at timestamptz;
  v_retried_from bigint;
  v_due_from bigint;
  v_due_at timestamptz;
begin
  for v_partition in 0 .. v_topic.partitions - 1 loop
    select * into v_state
    from gapless.consumer_offset c
    where c.subscription_id = v_subscription.subscription_id and c.partition_id = v_partition
    order by c.seq desc
    limit 1;
    select min(lower(l.items)), min(l.expires_at) into v_leased_from, v_expires_at
    from gapless.find_leases(v_state.subscription_id, v_partition, v_state.leases) l;
    select
      min(r.from_offset),
      min(r.from_offset) filter (where r.lease_id is null and r.due_at <= v_now),
      min(r.due_at) filter (where r.lease_id is null and r.due_at > v_now)
    into v_retried_from, v_due_from, v_due_at
    from gapless.retry_event r
    where r.subscription_id = v_state.subscription_id and r.partition_id = v_partition;
    partition_id := v_partition;
    earliest := gapless.log_earliest(v_topic.topic_id, v_partition);
    tip := (select t.log_offset from gapless.log_tip(v_topic.topic_id, v_partition) t);
    "position" := v_state.position;
    floor := least(v_state.position, v_leased_from, v_retried_from);
    waiting := greatest(tip - greatest(v_state.position, earliest) + 1, 0);
    in_flight := v_state.in_flight;
    retrying := v_state.retrying;
    lag := waiting + in_flight + retrying;
    discarded := (
      select count(*)
      from gapless.dead_letter d
      where d.subscription_id = v_state.subscription_id and d.partition_id = v_partition and d.status = 'discarded'
    );
    dead := v_state.dead - discarded;
    acked := v_state.acked;
    skipped := v_state.skipped + greatest(earliest - v_state.position, 0);
    blocked := v_subscription.on_dead_letter = 'block' and exists (
      select from gapless.dead_letter d
      where d.subscription_id = v_state.subscription_id and d.partition_id = v_partition and d.status = 'dead'
    );
    v_due_from := least(v_due_from, case when waiting > 0 then greatest(v_state.position, earliest) end);
    oldest_claimable_at := coalesce(
      (
        select e.published_at
        from gapless.read_range(v_topic.topic_id, v_partition, v_due_from, 1, 1) e
      ),
      (
        select d.published_at
        from gapless.dead_letter d
        where d.subscription_id = v_state.subscription_id and d.partition_id = v_partition and d.log_offset = v_due_from
      )
    );
    next_due_at := least(v_expires_at, v_due_at);
    return next;
  end loop;
end
$$;
