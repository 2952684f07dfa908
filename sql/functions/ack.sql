/*
 * Acks events of a lease: these offsets, or all up to p_up_to, or all of it; an empty array acks nothing.
 *
 * Returns runs of offsets, in order, each with what became of it: acked, already_acked, failed (nacked
 * before), lease_lost, not_leased. A lease ends when all of it is acked; until then single acks are
 * noted, and count when the lease ends another way, by whole transactions. Raises GP003, and GP012 when the
 * lease is over for another reason than its acks.
 */
create or replace function gapless.ack(
  p_lease text,
  p_offsets bigint[] default null,
  p_up_to bigint default null
)
returns table (first_offset bigint, last_offset bigint, status text)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_lease gapless.lease := gapless.find_lease(p_lease);
  v_asked int8multirange;
  v_state gapless.consumer_offset;
  v_subscription gapless.subscription;
begin
  if p_offsets is not null and p_up_to is not null then
    raise exception using
      errcode = 'GP003', message = 'offsets and up_to exclude each other', detail = '{"field":"up_to"}';
  end if;
  v_asked := gapless.offsets_asked(p_offsets, p_up_to, v_lease);
  if v_lease.outcome = 'acked' or (v_lease.ended_at is not null and v_lease.acked @> v_asked and v_asked <> '{}') then
    return query select * from gapless.ack_results(v_lease, v_asked, 'lease_lost');
    return;
  end if;
  v_lease := gapless.open_lease(p_lease);
  select * into v_subscription from gapless.subscription s where s.subscription_id = v_lease.subscription_id;
  if (v_lease.acked + v_asked) @> v_lease.items then
    v_state := gapless.newest_position(v_lease.subscription_id, v_lease.partition_id);
    v_state := gapless.end_lease(v_subscription, v_state, v_lease.lease_id, 'acked');
    perform gapless.append_position(v_state);
    perform gapless.wake_after_ack(v_subscription, v_lease.partition_id);
  elsif not v_lease.acked @> (v_asked * v_lease.items) then
    update gapless.lease l
    set acked = l.acked + v_asked * l.items
    where l.subscription_id = v_lease.subscription_id and l.partition_id = v_lease.partition_id
      and l.lease_id = v_lease.lease_id;
  end if;
  return query select * from gapless.ack_results(v_lease, v_asked, 'acked');
end
$$;
