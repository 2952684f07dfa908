/*
 * Stops the claims of a group until gapless.resume; leases that are open go on, and retention keeps
 * what the group needs. For a PAUSED one only the reason changes, if one is given. Raises GP001, GP003, GP010, and GP011 for
 * one that is DEAD or CANCELLED. A claim that has begun already may still get its lease.
 */
create or replace function gapless.pause(
  p_topic text,
  p_group text,
  p_reason text default null,
  p_actor text default null
)
returns gapless.subscription
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found record := gapless.lock_subscription(p_topic, p_group);
  v_subscription gapless.subscription := v_found.subscription;
begin
  perform gapless.check_reason(p_reason);
  perform gapless.refuse_dead_or_cancelled(v_subscription);
  if v_subscription.status = 'PAUSED' and coalesce(p_reason = v_subscription.reason, p_reason is null) then
    return v_subscription;
  end if;
  update gapless.subscription s
  set status_at = case when s.status = 'PAUSED' then s.status_at else gapless.clock() end,
      status = 'PAUSED',
      reason = p_reason
  where s.subscription_id = v_subscription.subscription_id
  returning * into v_subscription;
  perform gapless.audit(p_actor, 'pause', p_topic, p_group, jsonb_build_object('reason', p_reason));
  perform gapless.wake_group(v_subscription.subscription_id);
  return v_subscription;
end
$$;
