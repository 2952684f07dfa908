/*
 * Gives back these events of a lease, by whole transactions, by default all that is not acked: at once and
 * without counting the delivery; returns how many events. A lease that is over already gives back 0.
 * Raises GP003, and GP012 for a token that names no lease.
 */
create or replace function gapless.release(p_lease text, p_offsets bigint[] default null)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  v_lease gapless.lease := gapless.find_lease(p_lease);
  v_asked int8multirange := gapless.offsets_asked(p_offsets, null, v_lease);
  v_subscription gapless.subscription;
  v_before gapless.consumer_offset;
  v_state gapless.consumer_offset;
begin
  if v_lease.lease_id is null then
    v_lease := gapless.open_lease(p_lease);
  end if;
  if v_lease.ended_at is not null or v_lease.expires_at <= gapless.clock() then
    return 0;
  end if;
  select * into v_subscription from gapless.subscription s where s.subscription_id = v_lease.subscription_id;
  v_asked := gapless.units_with(v_subscription.topic_id, v_lease, v_asked - v_lease.acked);
  if v_asked = '{}' then
    return 0;
  end if;
  v_before := gapless.newest_position(v_lease.subscription_id, v_lease.partition_id);
  perform gapless.refuse_old_snapshot(v_before);
  v_state := gapless.shrink_lease(v_subscription, v_before, v_lease, v_asked, 'released', null, null);
  perform gapless.append_position(v_state);
  perform gapless.wake_group(v_subscription.subscription_id);
  return v_state.retrying - v_before.retrying;
end
$$;
