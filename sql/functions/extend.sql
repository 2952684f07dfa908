/*
 * Lets an open lease end p_lease_seconds from now, by default its group's lease_seconds; returns when.
 * Counts as a heartbeat, and revives a DEAD group, whose next claims tell what it lost. Raises GP003, GP012.
 */
create or replace function gapless.extend(p_lease text, p_lease_seconds double precision default null)
returns timestamptz
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  v_lease gapless.lease := gapless.find_lease(p_lease, false);
  v_subscription gapless.subscription;
begin
  perform gapless.check_lease_seconds(p_lease_seconds);
  select * into v_subscription from gapless.subscription s where s.subscription_id = v_lease.subscription_id;
  -- Before the lease, as a revival locks the retention of the topic.
  if v_subscription.status = 'DEAD' and v_lease.ended_at is null and v_lease.expires_at > gapless.clock() then
    perform gapless.revive(v_subscription, false);
    select * into v_subscription from gapless.subscription s where s.subscription_id = v_lease.subscription_id;
  end if;
  v_lease := gapless.open_lease(p_lease);
  v_lease.expires_at := gapless.clock()
    + make_interval(secs => coalesce(p_lease_seconds, v_subscription.lease_seconds));
  update gapless.lease l
  set expires_at = v_lease.expires_at
  where l.subscription_id = v_lease.subscription_id and l.partition_id = v_lease.partition_id
    and l.lease_id = v_lease.lease_id;
  perform gapless.beat(v_subscription);
  return v_lease.expires_at;
end
$$;
