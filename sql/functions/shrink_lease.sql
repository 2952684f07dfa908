/*
 * Takes whole transactions out of an open lease with p_outcome (see gapless.fail_items) and returns
 * the state, which the caller appends. A lease without anything left, or with acked events only, ends.
 */
create or replace function gapless.shrink_lease(
  p_subscription gapless.subscription,
  p_state gapless.consumer_offset,
  p_lease gapless.lease,
  p_items int8multirange,
  p_outcome text,
  p_due_at timestamptz,
  p_reason text
)
returns gapless.consumer_offset
language plpgsql
set enable_seqscan = off
as $$
declare
  v_left int8multirange := p_lease.items - p_items;
begin
  if v_left = '{}' then
    return gapless.end_lease(
      p_subscription, p_state, p_lease.lease_id, p_outcome, p_due_at, p_reason
    );
  end if;
  p_state := gapless.fail_items(
    p_subscription, p_state, p_lease, p_items, p_outcome, p_due_at, p_reason
  );
  update gapless.lease l
  set items = v_left, events = gapless.events_in(v_left), acked = l.acked - p_items, failed = l.failed + p_items
  where l.subscription_id = p_lease.subscription_id and l.partition_id = p_lease.partition_id
    and l.lease_id = p_lease.lease_id;
  if p_lease.acked @> v_left then
    p_state := gapless.end_lease(p_subscription, p_state, p_lease.lease_id, 'acked');
  end if;
  return p_state;
end
$$;
