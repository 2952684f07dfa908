/*
 * Lets a PAUSED group claim again, from where it was; an ACTIVE one stays as it is. Its time to be
 * heard of begins anew. Raises GP001, GP010, and GP011 for one that is DEAD or CANCELLED.
 */
create or replace function gapless.resume(p_topic text, p_group text, p_actor text default null)
returns gapless.subscription
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found record := gapless.lock_subscription(p_topic, p_group);
  v_subscription gapless.subscription := v_found.subscription;
begin
  perform gapless.refuse_dead_or_cancelled(v_subscription);
  if v_subscription.status = 'ACTIVE' then
    return v_subscription;
  end if;
  update gapless.subscription s
  set status = 'ACTIVE', reason = null, status_at = gapless.clock()
  where s.subscription_id = v_subscription.subscription_id
  returning * into v_subscription;
  perform gapless.audit(p_actor, 'resume', p_topic, p_group, '{}');
  perform gapless.wake_group(v_subscription.subscription_id);
  return v_subscription;
end
$$;
