/*
 * Ends the leases of this partition that have expired by the database's clock and returns the state,
 * which the caller appends. Each of them counts as a delivery. Notes (gapless.note) how many there were, and how many of
 * their events come again or are dead.
 *
 * Once 20,000 events were in them the others stay open for the next call, so that each takes its time only.
 */
create or replace function gapless.expire_leases(
  p_subscription gapless.subscription,
  p_state gapless.consumer_offset
)
returns gapless.consumer_offset
language plpgsql
set enable_seqscan = off
as $$
declare
  v_lease_id bigint;
  v_before gapless.consumer_offset := p_state;
begin
  for v_lease_id in
    select l.lease_id
    from gapless.find_leases(p_state.subscription_id, p_state.partition_id, p_state.leases) l
    where l.expires_at <= gapless.clock()
    order by l.lease_id
  loop
    p_state := gapless.end_lease(p_subscription, p_state, v_lease_id, 'expired');
    exit when v_before.in_flight - p_state.in_flight >= 20000;
  end loop;
  perform gapless.note('expired_leases', cardinality(v_before.leases) - cardinality(p_state.leases));
  perform gapless.note('expired', p_state.retrying - v_before.retrying);
  perform gapless.note('expired_dead', p_state.dead - v_before.dead);
  return p_state;
end
$$;
