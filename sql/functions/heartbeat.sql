/*
 * A member says that its group is alive. A DEAD group becomes ACTIVE; lost is how many events
 * retention took from it meanwhile. A PAUSED group stays as it is. beat_at is the beat that is stored, see
 * gapless.beat; this one where none is. Claims count as heartbeats, so who claims often need not call this.
 * Raises GP001, GP003, GP010, and GP014 for a cancelled group.
 */
create or replace function gapless.heartbeat(p_topic text, p_group text, p_member text)
returns table (status text, lost bigint, beat_at timestamptz)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_found record := gapless.find_subscription(p_topic, p_group);
  v_subscription gapless.subscription := v_found.subscription;
  v_lost bigint := 0;
begin
  if p_member is null or length(p_member) not between 1 and 200 then
    raise exception using
      errcode = 'GP003', message = 'a member is named by 1 to 200 characters', detail = '{"field":"member"}';
  end if;
  if v_subscription.status = 'DEAD' then
    v_lost := gapless.revive(v_subscription);
    select * into v_subscription
    from gapless.subscription s
    where s.subscription_id = v_subscription.subscription_id;
  end if;
  perform gapless.refuse_cancelled(v_subscription, 'GP014');
  perform gapless.beat(v_subscription);
  return query
  select
    v_subscription.status,
    v_lost,
    coalesce(
      (select h.beat_at from gapless.heartbeat h where h.subscription_id = v_subscription.subscription_id),
      gapless.clock()
    );
end
$$;
