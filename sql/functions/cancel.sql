/*
 * Ends a group for good: it claims and holds nothing any more. Its leases are fenced; what they and its
 * retries had not finished counts as skipped. Positions and dead letters stay to be looked at until
 * it is deleted. A second call changes nothing.
 *
 * Raises GP001, GP003, GP010, and GP011 for the group of a queue, which could never be used again.
 */
create or replace function gapless.cancel(
  p_topic text,
  p_group text,
  p_reason text default null,
  p_actor text default null
)
returns gapless.subscription
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_found record := gapless.lock_subscription(p_topic, p_group);
  v_topic gapless.topic := v_found.topic;
  v_subscription gapless.subscription := v_found.subscription;
  v_old gapless.consumer_offset;
  v_new gapless.consumer_offset;
  v_skipped bigint := 0;
begin
  perform gapless.check_reason(p_reason);
  if v_topic.semantics = 'queue' then
    raise exception using
      errcode = 'GP011',
      message = format('topic "%s" is a queue: its group lives as long as it does', p_topic),
      detail = '{"field":"semantics","current":"queue"}';
  end if;
  if v_subscription.status = 'CANCELLED' then
    return v_subscription;
  end if;
  perform gapless.lock_group(
    v_subscription.subscription_id, array(select generate_series(0, v_topic.partitions - 1))
  );
  for v_partition in 0 .. v_topic.partitions - 1 loop
    v_old := gapless.newest_position(v_subscription.subscription_id, v_partition);
    v_new := gapless.abandon_events(v_subscription, v_old, 9223372036854775806, 'dead');
    continue when v_new is not distinct from v_old;
    v_skipped := v_skipped + v_new.skipped - v_old.skipped;
    perform gapless.append_position(v_new);
  end loop;
  update gapless.subscription s
  set status = 'CANCELLED', reason = p_reason, status_at = gapless.clock()
  where s.subscription_id = v_subscription.subscription_id
  returning * into v_subscription;
  perform gapless.audit(
    p_actor, 'cancel', p_topic, p_group, jsonb_build_object('reason', p_reason, 'skipped', v_skipped)
  );
  perform gapless.wake_group(v_subscription.subscription_id);
  return v_subscription;
end
$$;
