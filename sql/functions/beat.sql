/*
 * Notes that a group is alive; nothing while it is PAUSED or CANCELLED.
 *
 * Written only when the beat stored is older than a third of heartbeat_seconds, and not when somebody
 * else is writing or deleting it: the hot path reads, and never waits here.
 */
create or replace function gapless.beat(p_subscription gapless.subscription)
returns void
language plpgsql
set enable_seqscan = off
as $$
declare
  v_now timestamptz := gapless.clock();
  v_beat_at timestamptz;
begin
  if p_subscription.status in ('PAUSED', 'CANCELLED') then
    return;
  end if;
  select h.beat_at into v_beat_at
  from gapless.heartbeat h
  where h.subscription_id = p_subscription.subscription_id;
  if v_beat_at > v_now - make_interval(secs => p_subscription.heartbeat_seconds / 3) then
    return;
  end if;
  update gapless.heartbeat h
  set beat_at = v_now
  where h.subscription_id = (
    select l.subscription_id
    from gapless.heartbeat l
    where l.subscription_id = p_subscription.subscription_id
    for update skip locked
  );
end
$$;
