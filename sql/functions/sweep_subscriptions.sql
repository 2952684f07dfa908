/*
 * Makes groups DEAD that were not heard of for longer than their heartbeat timeout, and returns how
 * many. A DEAD group holds nothing back from retention; its next claim, extension or heartbeat revives it.
 *
 * Only an ACTIVE group dies. Its time runs from its last beat, or from when it became ACTIVE; a beat may be
 * stored up to a third of heartbeat_seconds late, so that long is added: nobody dies early. Groups that
 * were revived lately have more time, see gapless.revive. One runner at a time, another gets 0 at once;
 * it ends with its transaction, so a runner that is killed keeps no other from it.
 */
create or replace function gapless.sweep_subscriptions()
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := gapless.clock();
  v_silent record;
  v_group record;
  v_dead bigint := 0;
begin
  if not pg_try_advisory_xact_lock(gapless.lock_key(5, 0, 4)) then
    return 0;
  end if;
  for v_silent in
    select s.subscription_id
    from gapless.subscription s
    join gapless.heartbeat h on h.subscription_id = s.subscription_id
    where s.status = 'ACTIVE' and s.heartbeat_timeout_seconds is not null
      and greatest(h.beat_at, s.status_at) <= v_now - make_interval(secs => s.heartbeat_timeout_seconds)
    order by s.subscription_id
    limit 1000
  loop
    -- Locked, then read anew: it may have been heard of, paused or given another timeout meanwhile. Where the
    -- beat is locked, somebody is alive who has not committed yet.
    perform from gapless.subscription s
    where s.subscription_id = v_silent.subscription_id
    for no key update skip locked;
    continue when not found;
    perform from gapless.heartbeat h
    where h.subscription_id = v_silent.subscription_id
    for update skip locked;
    continue when not found;
    select s.subscription_id, s.topic_id, s.name, t.name as topic, g.silent_since, g.allowed
    into v_group
    from gapless.subscription s
    join gapless.topic t on t.topic_id = s.topic_id and t.deleted_at is null
    join gapless.heartbeat h on h.subscription_id = s.subscription_id
    cross join lateral (
      select
        greatest(h.beat_at, s.status_at) as silent_since,
        s.heartbeat_seconds / 3 + s.heartbeat_timeout_seconds * case
          when s.revived_at > v_now - make_interval(secs => 10 * s.heartbeat_timeout_seconds)
          then 2 ^ least(s.revivals, 3)
          else 1
        end as allowed
    ) g
    where s.subscription_id = v_silent.subscription_id and s.status = 'ACTIVE'
      and g.silent_since <= v_now - make_interval(secs => g.allowed);
    continue when not found;
    update gapless.subscription s
    set status = 'DEAD',
        reason = format('not heard of since %s', to_char(v_group.silent_since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
        status_at = v_now
    where s.subscription_id = v_group.subscription_id;
    perform gapless.audit(null, 'dead', v_group.topic, v_group.name, jsonb_build_object(
      'silent_since', gapless.format_time(v_group.silent_since), 'allowed_seconds', v_group.allowed
    ));
    perform gapless.wake_group(v_group.subscription_id);
    v_dead := v_dead + 1;
  end loop;
  return v_dead;
end
$$;
