/*
 * Ends an open lease of this partition and returns the state, which the caller appends.
 *
 * p_outcome acked: all of it is done. fenced: all of it is forgotten, and where the group goes on is for the
 * caller to say. failed, expired, released: the transactions acked whole are done, the others fail with
 * that outcome (see gapless.fail_items); so does an acked event whose transaction was not acked whole.
 */
create or replace function gapless.end_lease(
  p_subscription gapless.subscription,
  p_state gapless.consumer_offset,
  p_lease_id bigint,
  p_outcome text,
  p_due_at timestamptz default null,
  p_reason text default null
)
returns gapless.consumer_offset
language plpgsql
set enable_seqscan = off
as $$
declare
  v_lease gapless.lease;
  v_done int8multirange := '{}';
  v_count bigint;
begin
  select * into strict v_lease
  from gapless.lease l
  where l.subscription_id = p_state.subscription_id and l.partition_id = p_state.partition_id
    and l.lease_id = p_lease_id;
  if p_outcome = 'acked' then
    v_done := v_lease.items;
    v_count := v_lease.events;
  elsif v_lease.acked <> '{}' and p_outcome <> 'fenced' then
    v_done := (
      select coalesce(range_agg(int8range(u.from_offset, u.to_offset + 1)), '{}')
      from gapless.lease_units(p_subscription.topic_id, v_lease) u
      where v_lease.acked @> int8range(u.from_offset, u.to_offset + 1)
    );
    v_count := gapless.events_in(v_done);
  else
    v_count := 0;
  end if;
  if v_count > 0 then
    p_state.acked := p_state.acked + v_count;
    p_state.in_flight := p_state.in_flight - v_count;
    if v_lease.retries then
      perform from gapless.take_leased(p_subscription, v_lease, v_done);
    end if;
  end if;
  if p_outcome = 'fenced' then
    p_state.in_flight := p_state.in_flight - v_lease.events;
    if v_lease.retries then
      perform from gapless.take_leased(p_subscription, v_lease, v_lease.items);
    end if;
  elsif p_outcome <> 'acked' then
    p_state := gapless.fail_items(
      p_subscription, p_state, v_lease, v_lease.items - v_done, p_outcome, p_due_at, p_reason
    );
  end if;
  update gapless.lease l
  set ended_at = gapless.clock(),
      outcome = p_outcome,
      acked = v_done,
      failed = case when p_outcome = 'acked' then v_lease.failed else v_lease.failed + (v_lease.items - v_done) end
  where l.subscription_id = p_state.subscription_id and l.partition_id = p_state.partition_id
    and l.lease_id = p_lease_id;
  p_state.leases := array_remove(p_state.leases, p_lease_id);
  return p_state;
end
$$;
