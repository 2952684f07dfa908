/*
 * Claims what can be claimed in one partition of a group; the caller holds its lock. lease is null when that is
 * nothing: due_at then says when time alone may change it, and more that another call would go on.
 */
create or replace function gapless.claim_partition(
  p_subscription gapless.subscription,
  p_partition integer,
  p_member text,
  p_limit bigint,
  p_max_bytes bigint,
  p_lease_seconds double precision,
  p_request_id text,
  out lease text,
  out items int8multirange,
  out attempt integer,
  out expires_at timestamptz,
  out skipped bigint,
  out due_at timestamptz,
  out more boolean
)
language plpgsql
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := gapless.clock();
  v_before gapless.consumer_offset := gapless.newest_position(p_subscription.subscription_id, p_partition);
  v_state gapless.consumer_offset := v_before;
  v_earliest bigint := gapless.log_earliest(p_subscription.topic_id, p_partition);
  v_found record;
  v_last bigint;
  v_count bigint;
  v_keys text[];
  v_retries boolean := false;
  v_secret text;
  v_once boolean := p_subscription.delivery = 'at_most_once';
begin
  claim_partition.items := '{}';
  claim_partition.skipped := 0;
  more := false;
  -- A pause or a cancellation may have committed while this waited for nothing but its turn.
  perform from gapless.subscription s
  where s.subscription_id = p_subscription.subscription_id and s.status = 'ACTIVE';
  if not found then
    return;
  end if;
  perform gapless.refuse_old_snapshot(v_state);
  if v_state.leases <> '{}' then
    select min(l.expires_at) into claim_partition.due_at
    from gapless.find_leases(v_state.subscription_id, p_partition, v_state.leases) l;
    if claim_partition.due_at <= v_now then
      v_state := gapless.expire_leases(p_subscription, v_state);
      claim_partition.due_at := (
        select min(l.expires_at)
        from gapless.find_leases(v_state.subscription_id, p_partition, v_state.leases) l
      );
    end if;
  end if;
  if v_earliest > 1 then
    v_state := gapless.skip_trimmed(v_state, v_earliest);
  end if;
  claim_partition.skipped := v_state.skipped - v_before.skipped;

  if p_limit > 0 and (p_subscription.ordering <> 'partition' or v_state.leases = '{}') then
    if v_state.retrying > 0 then
      select * into v_found from gapless.lease_retries(p_subscription, v_state, p_limit, p_max_bytes);
      claim_partition.due_at := least(claim_partition.due_at, v_found.due_at);
      if v_found.items <> '{}' then
        v_retries := true;
        claim_partition.items := v_found.items;
        claim_partition.attempt := v_found.attempts + 1;
        v_keys := v_found.keys;
        v_count := gapless.events_in(v_found.items);
        v_state.retrying := v_state.retrying - v_count;
      end if;
    end if;
    if claim_partition.items = '{}' then
      claim_partition.attempt := 1;
      if p_subscription.ordering = 'key' then
        select * into v_found from gapless.lease_by_key(p_subscription, v_state, p_limit, p_max_bytes);
        v_state := v_found.p_state;
        more := v_found.more;
        if v_found.items <> '{}' then
          claim_partition.items := v_found.items;
          v_keys := v_found.keys;
          v_count := gapless.events_in(v_found.items);
        end if;
      elsif (p_subscription.ordering = 'none' or v_state.retrying = 0) and not (
        v_state.dead > 0 and p_subscription.on_dead_letter = 'block'
        and gapless.first_dead(v_state.subscription_id, p_partition) is not null
      ) then
        v_last := gapless.next_events(p_subscription.topic_id, p_partition, v_state.position, p_limit, p_max_bytes);
        if v_last is not null then
          claim_partition.items := int8multirange(int8range(v_state.position, v_last + 1));
          v_count := v_last - v_state.position + 1;
          v_state.position := v_last + 1;
        end if;
      end if;
    end if;
  end if;

  if claim_partition.items <> '{}' then
    v_secret := replace(gen_random_uuid()::text, '-', '');
    claim_partition.lease := 'v1.' || v_state.subscription_id || '.' || p_partition || '.' || v_state.next_lease || '.' || v_secret;
    claim_partition.expires_at := v_now + make_interval(secs => coalesce(p_lease_seconds, p_subscription.lease_seconds));
    insert into gapless.lease (
      subscription_id, partition_id, lease_id, secret, member, request_id, items, events, retries, attempt, keys, claimed_at,
      expires_at, acked, ended_at, outcome
    )
    values (
      v_state.subscription_id, p_partition, v_state.next_lease, v_secret, p_member, p_request_id, claim_partition.items,
      v_count, v_retries, claim_partition.attempt, v_keys, v_now, claim_partition.expires_at,
      case when v_once then claim_partition.items else '{}' end,
      case when v_once then v_now end,
      case when v_once then 'acked' end
    );
    if v_once then
      v_state.acked := v_state.acked + v_count;
      if v_retries then
        delete from gapless.retry_event r
        where r.subscription_id = v_state.subscription_id and r.partition_id = p_partition
          and r.from_offset between lower(claim_partition.items) and upper(claim_partition.items) - 1
          and r.lease_id = v_state.next_lease;
      end if;
    else
      v_state.in_flight := v_state.in_flight + v_count;
      v_state.leases := v_state.leases || v_state.next_lease;
    end if;
    v_state.next_lease := v_state.next_lease + 1;
  end if;
  if v_state is distinct from v_before then
    perform gapless.append_position(v_state);
  end if;
end
$$;
