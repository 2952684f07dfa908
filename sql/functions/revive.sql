/*
 * Makes a DEAD group ACTIVE again at max(position, earliest) of each partition, and returns how many
 * events it lost: what retention removed while it held nothing, waiting or to be retried. They count
 * as skipped. Returns 0 for a group that is not DEAD, or no longer.
 *
 * A group that dies and revives again and again would have retention let go and hold on each time. So
 * revivals within 10 heartbeat timeouts of the one before add up, and for that long after a revival each doubles
 * the silence that gapless.sweep_subscriptions allows, to at most 8 timeouts.
 *
 * Locks the topic's retention, the subscription, then all its partitions: a trim is either seen here
 * or sees what the group holds. Unless p_skip, positions and partitions are left alone and null is returned: each
 * next claim skips and tells what its partition lost, as of a group that lived.
 */
create or replace function gapless.revive(p_subscription gapless.subscription, p_skip boolean default true)
returns bigint
language plpgsql
set enable_seqscan = off
as $$
declare
  v_now timestamptz := gapless.clock();
  v_topic gapless.topic;
  v_old gapless.consumer_offset;
  v_new gapless.consumer_offset;
  v_lost bigint;
begin
  perform pg_advisory_xact_lock(gapless.lock_key(7, p_subscription.topic_id, 0));
  select * into p_subscription
  from gapless.subscription s
  where s.subscription_id = p_subscription.subscription_id
  for no key update;
  if p_subscription.status is distinct from 'DEAD' then
    return 0;
  end if;
  select * into v_topic from gapless.topic t where t.topic_id = p_subscription.topic_id;
  if p_skip then
    v_lost := 0;
    perform gapless.lock_group(
      p_subscription.subscription_id, array(select generate_series(0, v_topic.partitions - 1))
    );
    for v_partition in 0 .. v_topic.partitions - 1 loop
      v_old := gapless.newest_position(p_subscription.subscription_id, v_partition);
      v_new := gapless.skip_trimmed(v_old, gapless.log_earliest(v_topic.topic_id, v_partition));
      if v_new is distinct from v_old then
        v_lost := v_lost + v_new.skipped - v_old.skipped;
        perform gapless.append_position(v_new);
      end if;
    end loop;
  end if;
  update gapless.subscription s
  set status = 'ACTIVE',
      reason = null,
      status_at = v_now,
      revivals = 1 + case
        when s.revived_at > v_now - make_interval(secs => 10 * s.heartbeat_timeout_seconds) then s.revivals
        else 0
      end,
      revived_at = v_now
  where s.subscription_id = p_subscription.subscription_id
  returning * into p_subscription;
  perform gapless.beat(p_subscription);
  perform gapless.audit(
    null, 'revive', v_topic.name, p_subscription.name,
    jsonb_build_object('lost', v_lost, 'revivals', p_subscription.revivals)
  );
  perform gapless.wake_group(p_subscription.subscription_id);
  return v_lost;
end
$$;
