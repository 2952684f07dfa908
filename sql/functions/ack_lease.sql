/*
 * Acks all of a lease of this group: acked, already_acked, or lease_lost, which is no error here. Notes how many
 * events it acked.
 */
create or replace function gapless.ack_lease(p_subscription gapless.subscription, p_lease text)
returns text
language plpgsql
as $$
declare
  v_lease gapless.lease;
  v_state gapless.consumer_offset;
begin
  -- Before anything is locked: a claim that holds a partition of another group could meet one that waits for it.
  if split_part(p_lease, '.', 2) <> p_subscription.subscription_id::text then
    return 'lease_lost';
  end if;
  v_lease := gapless.find_lease(p_lease);
  if v_lease.lease_id is null then
    return 'lease_lost';
  end if;
  if v_lease.outcome = 'acked' then
    return 'already_acked';
  end if;
  if v_lease.ended_at is not null or v_lease.expires_at <= gapless.clock() then
    return 'lease_lost';
  end if;
  v_state := gapless.newest_position(v_lease.subscription_id, v_lease.partition_id);
  v_state := gapless.end_lease(p_subscription, v_state, v_lease.lease_id, 'acked');
  perform gapless.append_position(v_state);
  perform gapless.note('acked', v_lease.events);
  return 'acked';
end
$$;
