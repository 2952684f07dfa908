/*
 * The lease that a token names, as it is now and stays while the transaction holds its lock.
 * Raises GP012 when it is over: expired by the database's clock, settled, fenced or unknown.
 */
create or replace function gapless.open_lease(p_lease text)
returns gapless.lease
language plpgsql
volatile
as $$
declare
  v_lease gapless.lease := gapless.find_lease(p_lease);
begin
  if v_lease.lease_id is null or v_lease.ended_at is not null or v_lease.expires_at <= gapless.clock() then
    raise exception using
      errcode = 'GP012',
      message = case
        when v_lease.lease_id is null then 'the lease is unknown or long over'
        when v_lease.ended_at is null or v_lease.outcome = 'expired' then 'the lease expired'
        else format('the lease is over: %s', v_lease.outcome)
      end;
  end if;
  return v_lease;
end
$$;
