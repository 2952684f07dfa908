/*
 * Removes what no claim or acknowledgement reads any more (positions that are not the newest, leases that
 * are over for ten minutes), ends open leases that expired in groups nobody claims from, so that
 * their events are counted and wake up who waits for them, and returns how many rows and leases that
 * were. Does at most about p_limit of each, and ends leases of about 20,000 events: call it again until it returns 0;
 * where it removed p_limit rows or more, there are others. No log has much more than half of a call, and in each the
 * logs come in another order, so that one at which rows come faster than they go keeps no other from being swept.
 * Raises GP003 for a limit below 1.
 *
 * gapless.swept keeps how far it came, so it never walks what it removed before, even while an old
 * transaction keeps vacuum from it; where nothing happened a log costs two index probes. A lease that is not over for
 * long enough is passed and remembered, as one that is extended for hours must not keep all later ones.
 * It waits for nobody: one runner at a time, another gets 0 at once, and a group or partition that is
 * locked is left for the next run.
 */
create or replace function gapless.sweep_leases(p_limit integer default 10000)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_now timestamptz := gapless.clock();
  v_log record;
  v_subscription gapless.subscription;
  v_old gapless.consumer_offset;
  v_new gapless.consumer_offset;
  v_to_seq bigint;
  v_passed bigint[];
  v_lease record;
  v_last bigint;
  v_count bigint;
  -- Of each kind.
  v_share bigint := greatest(p_limit / 4, 1);
  v_seen bigint;
  v_cut boolean := true;
  v_rows bigint := 0;
  v_expired bigint := 0;
  v_ended bigint := 0;
  v_locked integer := 0;
begin
  perform gapless.check_limit(p_limit);
  if not pg_try_advisory_xact_lock(gapless.lock_key(5, 0, 5)) then
    return 0;
  end if;
  while v_cut and v_rows < p_limit loop
    v_cut := false;
    for v_log in
      select
        s.subscription_id, p.id as partition_id, o.seq, o.next_lease,
        coalesce(w.seq, 0) as swept_seq, coalesce(w.lease_id, 0) as swept_lease, coalesce(w.passed, '{}') as passed
      from gapless.subscription s
      join gapless.topic t on t.topic_id = s.topic_id and t.deleted_at is null
      cross join lateral generate_series(0, t.partitions - 1) as p(id)
      cross join lateral (
        select c.seq, c.next_lease
        from gapless.consumer_offset c
        where c.subscription_id = s.subscription_id and c.partition_id = p.id
        order by c.seq desc
        limit 1
      ) o
      left join gapless.swept w on w.subscription_id = s.subscription_id and w.partition_id = p.id
      where o.seq - 1 > coalesce(w.seq, 0)
        or w.passed <> '{}'
        or (
          select l.claimed_at
          from gapless.lease l
          where l.subscription_id = s.subscription_id and l.partition_id = p.id
            and l.lease_id > coalesce(w.lease_id, 0) and l.lease_id < o.next_lease
          order by l.lease_id
          limit 1
        ) <= v_now - interval '10 minutes'
      order by random()
    loop
      exit when v_rows >= p_limit;
      -- Keeps out gapless.remove_subscription, after which gapless.swept knows nothing of the group.
      perform from gapless.subscription s
      where s.subscription_id = v_log.subscription_id
      for share skip locked;
      continue when not found;
      v_to_seq := least(v_log.seq - 1, v_log.swept_seq + v_share);
      v_cut := v_cut or v_to_seq < v_log.seq - 1;
      delete from gapless.consumer_offset c
      where c.subscription_id = v_log.subscription_id and c.partition_id = v_log.partition_id
        and c.seq > v_log.swept_seq and c.seq <= v_to_seq;
      get diagnostics v_count = row_count;
      v_rows := v_rows + v_count;

      v_passed := v_log.passed;
      if v_passed <> '{}' then
        delete from gapless.lease l
        where l.subscription_id = v_log.subscription_id and l.partition_id = v_log.partition_id
          and l.lease_id = any (v_passed) and gapless.lease_end(l) <= v_now - interval '10 minutes';
        get diagnostics v_count = row_count;
        v_rows := v_rows + v_count;
        v_passed := array(
          select l.lease_id from gapless.find_leases(v_log.subscription_id, v_log.partition_id, v_passed) l
        );
      end if;
      v_last := null;
      v_seen := 0;
      for v_lease in
        select l.lease_id, l.claimed_at, l.ended_at, gapless.lease_end(l) as over_at
        from gapless.lease l
        where l.subscription_id = v_log.subscription_id and l.partition_id = v_log.partition_id
          and l.lease_id > v_log.swept_lease and l.lease_id < v_log.next_lease
        order by l.lease_id
        limit v_share
      loop
        exit when v_lease.claimed_at > v_now - interval '10 minutes';
        -- A group has few leases that are open, but any number of those that ended as they began.
        exit when v_lease.ended_at = v_lease.claimed_at and v_lease.over_at > v_now - interval '10 minutes'
          and cardinality(v_passed) >= 1000;
        v_last := v_lease.lease_id;
        v_seen := v_seen + 1;
        if v_lease.over_at is null or v_lease.over_at > v_now - interval '10 minutes' then
          v_passed := v_passed || v_last;
        end if;
      end loop;
      v_cut := v_cut or v_seen = v_share;
      delete from gapless.lease l
      where l.subscription_id = v_log.subscription_id and l.partition_id = v_log.partition_id
        and l.lease_id > v_log.swept_lease and l.lease_id <= v_last and l.lease_id <> all (v_passed);
      get diagnostics v_count = row_count;
      v_rows := v_rows + v_count;

      insert into gapless.swept as w (subscription_id, partition_id, seq, lease_id, passed)
      values (
        v_log.subscription_id, v_log.partition_id, greatest(v_to_seq, v_log.swept_seq), coalesce(v_last, v_log.swept_lease), v_passed
      )
      on conflict (subscription_id, partition_id) do update
      set seq = excluded.seq, lease_id = excluded.lease_id, passed = excluded.passed
      where (w.seq, w.lease_id, w.passed) is distinct from (excluded.seq, excluded.lease_id, excluded.passed);
    end loop;
  end loop;

  -- Last, as partitions stay locked from here to the end.
  for v_log in
    select s.subscription_id, p.id as partition_id
    from gapless.subscription s
    join gapless.topic t on t.topic_id = s.topic_id and t.deleted_at is null
    cross join lateral generate_series(0, t.partitions - 1) as p(id)
    cross join lateral (
      select c.leases
      from gapless.consumer_offset c
      where c.subscription_id = s.subscription_id and c.partition_id = p.id
      order by c.seq desc
      limit 1
    ) o
    where o.leases <> '{}' and exists (
      select from gapless.find_leases(s.subscription_id, p.id, o.leases) l
      where l.expires_at <= v_now
    )
  loop
    exit when v_locked = 100 or v_ended >= 20000;
    continue when not pg_try_advisory_xact_lock(gapless.lock_key(8, v_log.subscription_id, v_log.partition_id));
    v_locked := v_locked + 1;
    select * into v_subscription from gapless.subscription s where s.subscription_id = v_log.subscription_id;
    v_old := gapless.newest_position(v_log.subscription_id, v_log.partition_id);
    continue when v_subscription.subscription_id is null or v_old.seq is null;
    -- What is wrong with one group must not keep all others from being swept.
    begin
      v_new := gapless.expire_leases(v_subscription, v_old);
      continue when v_new is not distinct from v_old;
      perform gapless.append_position(v_new);
      perform gapless.wake_group(v_subscription.subscription_id);
      v_expired := v_expired + cardinality(v_old.leases) - cardinality(v_new.leases);
      v_ended := v_ended + v_old.in_flight - v_new.in_flight;
    exception when integrity_constraint_violation or data_exception then
      raise warning 'the leases of group "%" in partition % cannot be ended: %', v_subscription.name, v_log.partition_id, sqlerrm;
    end;
  end loop;
  return v_rows + v_expired;
end
$$;
