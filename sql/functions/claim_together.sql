/*
 * Claims for several members of a group in one transaction: what gapless.claim does for each of them, at the
 * same place of every array; see there. All acks come before all claims, so what one of them frees another may get.
 *
 * p_partitions are for all of them. Whoever gets nothing is told the due_at of everything that was looked at, and
 * lost and skipped go to the one who found them out. Raises GP001, GP003, GP010, and GP014 for a cancelled group.
 */
create or replace function gapless.claim_together(
  p_topic text,
  p_group text,
  p_members text[],
  p_max_events integer[],
  p_max_bytes bigint[],
  p_lease_seconds double precision[],
  p_acks text[],
  p_request_ids text[],
  p_partitions integer[] default null
)
returns table (
  subscription_id integer,
  status text,
  ack_status text,
  lease text,
  partition_id integer,
  items int8multirange,
  attempt integer,
  expires_at timestamptz,
  skipped bigint,
  lost bigint,
  due_at timestamptz,
  busy boolean,
  replayed boolean
)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_topic gapless.topic;
  v_subscription gapless.subscription;
  v_partitions integer[] := p_partitions;
  v_partition integer;
  v_free bigint;
  v_found record;
  v_place integer;
  v_lost bigint := 0;
  v_due_at timestamptz;
  v_busy boolean := false;
  v_ack_statuses text[] := array_fill(null::text, array[cardinality(p_members)]);
  v_acked integer[] := '{}';
  v_claimed integer[] := '{}';
begin
  for v_place in 1 .. cardinality(p_members) loop
    perform gapless.check_claim(
      p_members[v_place], p_max_events[v_place], p_max_bytes[v_place], p_lease_seconds[v_place], p_request_ids[v_place]
    );
  end loop;
  select f.topic, f.subscription into v_found from gapless.find_subscription(p_topic, p_group) f;
  v_topic := v_found.topic;
  v_subscription := v_found.subscription;
  if p_request_ids is not null then
    perform pg_advisory_xact_lock(k.key)
    from (
      select distinct gapless.lock_key(
        10, v_subscription.subscription_id, hashtextextended(r.member || ':' || r.request_id, 0) & 65535
      ) as key
      from unnest(p_members, p_request_ids) as r(member, request_id)
      where r.request_id is not null
      order by key
    ) k;
  end if;
  if v_subscription.status = 'DEAD' then
    v_lost := gapless.revive(v_subscription);
    v_subscription := gapless.get_subscription(p_topic, p_group);
  end if;
  perform gapless.refuse_cancelled(v_subscription, 'GP014');
  perform gapless.beat(v_subscription);

  -- In the order of their partitions, as each waits for its own while holding those before.
  for v_place in
    select a.place
    from unnest(p_acks) with ordinality as a(token, place)
    where a.token is not null
    order by case when cardinality(p_acks) > 1 then gapless.lease_partition(a.token) end, a.place
  loop
    v_ack_statuses[v_place] := gapless.ack_lease(v_subscription, p_acks[v_place]);
    if v_ack_statuses[v_place] = 'acked' then
      v_acked := v_acked || gapless.lease_partition(p_acks[v_place]);
    end if;
  end loop;

  if v_subscription.status = 'ACTIVE' then
    if v_subscription.max_in_flight is not null then
      perform pg_advisory_xact_lock(gapless.lock_key(9, v_subscription.subscription_id, 0));
      v_free := v_subscription.max_in_flight - gapless.in_flight(v_subscription.subscription_id, v_topic.partitions);
    end if;
    if v_partitions is null then
      v_partition := floor(random() * v_topic.partitions);
      v_partitions := array(
        select (v_partition + i) % v_topic.partitions from generate_series(0, v_topic.partitions - 1) i
      );
    end if;
  end if;
  for v_place in 1 .. cardinality(p_members) loop
    claim_together.subscription_id := v_subscription.subscription_id;
    claim_together.status := v_subscription.status;
    claim_together.ack_status := v_ack_statuses[v_place];
    claim_together.lease := null;
    claim_together.partition_id := null;
    claim_together.items := null;
    claim_together.attempt := null;
    claim_together.expires_at := null;
    claim_together.skipped := 0;
    claim_together.lost := v_lost;
    v_lost := 0;
    claim_together.replayed := false;
    if v_subscription.status = 'ACTIVE' and p_request_ids[v_place] is not null then
      select * into v_found
      from gapless.requested_lease(
        v_subscription.subscription_id, v_topic.partitions, p_members[v_place], p_request_ids[v_place]
      );
      if v_found.lease is not null then
        claim_together.lease := v_found.lease;
        claim_together.partition_id := v_found.partition_id;
        claim_together.items := v_found.items;
        claim_together.attempt := v_found.attempt;
        claim_together.expires_at := v_found.expires_at;
        claim_together.replayed := true;
      end if;
    end if;
    while v_subscription.status = 'ACTIVE' and claim_together.lease is null and v_partitions <> '{}' loop
      v_partition := v_partitions[1];
      if v_partition is null or v_partition not between 0 and v_topic.partitions - 1
        -- Locks last until the commit; a group of many idle partitions would take as many.
        or (
          cardinality(v_partitions) > 8
          and not gapless.may_be_claimable(v_topic.topic_id, v_subscription.subscription_id, v_partition)
        )
      then
        v_partitions := v_partitions[2:];
        continue;
      end if;
      -- Tried only: this transaction may hold others already, in any order.
      if not pg_try_advisory_xact_lock(gapless.lock_key(8, v_subscription.subscription_id, v_partition)) then
        v_busy := true;
        v_partitions := v_partitions[2:];
        continue;
      end if;
      select * into v_found
      from gapless.claim_partition(
        v_subscription, v_partition, p_members[v_place], least(p_max_events[v_place], v_free), p_max_bytes[v_place],
        p_lease_seconds[v_place], p_request_ids[v_place]
      );
      claim_together.skipped := claim_together.skipped + v_found.skipped;
      v_due_at := least(v_due_at, v_found.due_at);
      if v_found.lease is null then
        v_busy := v_busy or v_found.more;
        v_partitions := v_partitions[2:];
        continue;
      end if;
      claim_together.lease := v_found.lease;
      claim_together.partition_id := v_partition;
      claim_together.items := v_found.items;
      claim_together.attempt := v_found.attempt;
      claim_together.expires_at := v_found.expires_at;
      v_due_at := least(v_due_at, v_found.expires_at);
      v_claimed := v_claimed || v_partition;
      if v_free is not null then
        v_free := v_free - gapless.events_in(v_found.items);
      end if;
      -- The next one looks elsewhere first: here it would go on behind this one, at best.
      v_partitions := v_partitions[2:];
      if v_subscription.ordering <> 'partition' then
        v_partitions := v_partitions || v_partition;
      end if;
    end loop;
    claim_together.due_at := case when claim_together.lease is null then v_due_at end;
    claim_together.busy := v_busy and claim_together.lease is null;
    return next;
  end loop;
  -- Whoever goes on in the partition that was acked leaves nothing there for others, but what was parked behind other keys.
  foreach v_partition in array v_acked loop
    if v_partition <> all (v_claimed) or v_subscription.max_in_flight is not null or (
      v_subscription.ordering = 'key'
      and (gapless.newest_position(v_subscription.subscription_id, v_partition)).retrying > 0
    ) then
      perform gapless.wake_after_ack(v_subscription, v_partition);
    end if;
  end loop;
end
$$;
