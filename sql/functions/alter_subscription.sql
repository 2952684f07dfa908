/*
 * Changes the settings named in p_changes (on_dead_letter, lease_seconds, max_attempts, backoff_seconds,
 * max_backoff_seconds, max_in_flight, heartbeat_seconds, heartbeat_timeout_seconds) and returns the
 * subscription. Raises GP001, GP003, GP010, and GP011 for a cancelled one; a repeated call changes nothing more.
 *
 * Open leases and waiting retries keep the times that they were given.
 */
create or replace function gapless.alter_subscription(
  p_topic text,
  p_group text,
  p_changes jsonb,
  p_actor text default null
)
returns gapless.subscription
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found record := gapless.lock_subscription(p_topic, p_group);
  v_old gapless.subscription := v_found.subscription;
  v_new gapless.subscription;
  v_unknown text;
begin
  if jsonb_typeof(p_changes) is distinct from 'object' then
    raise exception using errcode = 'GP003', message = 'changes must be an object', detail = '{"field":"changes"}';
  end if;
  select k into v_unknown
  from jsonb_object_keys(p_changes) k
  where k not in (
    'on_dead_letter', 'lease_seconds', 'max_attempts', 'backoff_seconds', 'max_backoff_seconds', 'max_in_flight',
    'heartbeat_seconds', 'heartbeat_timeout_seconds'
  )
  limit 1;
  if v_unknown is not null then
    raise exception using
      errcode = 'GP003',
      message = format('%s cannot be changed', left(v_unknown, 200)),
      detail = json_build_object('field', v_unknown)::text;
  end if;
  v_new := gapless.check_subscription_settings(v_old, p_changes);
  perform gapless.refuse_cancelled(v_old, 'GP011');
  if v_new is not distinct from v_old then
    return v_old;
  end if;
  update gapless.subscription s
  set on_dead_letter = v_new.on_dead_letter,
      lease_seconds = v_new.lease_seconds,
      max_attempts = v_new.max_attempts,
      backoff_seconds = v_new.backoff_seconds,
      max_backoff_seconds = v_new.max_backoff_seconds,
      max_in_flight = v_new.max_in_flight,
      heartbeat_seconds = v_new.heartbeat_seconds,
      heartbeat_timeout_seconds = v_new.heartbeat_timeout_seconds,
      updated_at = gapless.clock()
  where s.subscription_id = v_old.subscription_id
  returning * into v_new;
  perform gapless.audit(p_actor, 'alter_subscription', p_topic, p_group, p_changes);
  perform gapless.wake_group(v_new.subscription_id);
  return v_new;
end
$$;
