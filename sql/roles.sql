/*
 * The roles and every grant. Publishers and subscribers are siblings: neither can do the other's part.
 *
 * Roles belong to the whole server, so they may be there already, and another database may be
 * creating them at this moment. An owner who may not create roles goes on without them.
 */
do $$
declare
  v_role text;
begin
  foreach v_role in array array['gapless_publisher', 'gapless_subscriber', 'gapless_admin'] loop
    if not exists (select from pg_roles r where r.rolname = v_role) then
      begin
        execute format('create role %I nologin', v_role);
      exception
        when duplicate_object or unique_violation then null;
        when insufficient_privilege then
          raise warning 'role % is missing and % may not create it: let somebody else do so, then migrate again',
            v_role, current_user;
      end;
    end if;
  end loop;
end
$$;

revoke all on schema gapless from public;
revoke all on all tables in schema gapless from public;
revoke all on all functions in schema gapless from public;

do $$
declare
  v_grant record;
begin
  for v_grant in
    select g.role, r.routine
    from (values
      ('gapless_publisher', array[
        'publish', 'publish_at_commit', 'stage_chunk', 'publish_load', 'discard_load', 'discard_attempts'
      ]),
      ('gapless_subscriber', array[
        'read_events', 'read_tail', 'deleted_topics', 'offset_at', 'sleep_key', 'lock_key', 'fall_asleep', 'wake_up',
        'claim', 'claim_together', 'read_lease', 'ack', 'nack', 'reject', 'release', 'extend', 'ended_leases',
        'heartbeat', 'create_subscription', 'alter_subscription', 'get_subscription', 'list_subscriptions',
        'subscription_positions', 'last_heartbeat', 'event_completion',
        'pause', 'resume', 'seek',
        'list_leases', 'list_dead_letters', 'get_dead_letter', 'redrive', 'discard'
      ]),
      ('gapless_publisher', array['get_topic', 'list_topics', 'log_bounds', 'epoch', 'partition_of', 'clock']),
      ('gapless_subscriber', array['get_topic', 'list_topics', 'log_bounds', 'epoch', 'partition_of', 'clock']),
      ('gapless_admin', array[
        'create_topic', 'alter_topic', 'delete_topic', 'trim', 'renew_epoch',
        'create_segments_ahead', 'expire_publish_keys', 'expire_loads', 'drop_deleted_topics', 'apply_retention', 'drop_segments',
        'expire_audit', 'sweep_subscriptions', 'sweep_leases', 'measure', 'measure_database', 'applied_migrations', 'list_audit',
        'create_key', 'list_keys', 'revoke_key', 'active_keys', 'create_session', 'end_session', 'revoke_sessions',
        'create_ticket', 'redeem_ticket', 'expire_keys', 'cancel', 'delete_subscription', 'force_complete'
      ])
    ) as g(role, names)
    cross join lateral (
      select p.oid::regprocedure as routine
      from pg_proc p
      where p.pronamespace = 'gapless'::regnamespace and p.proname = any (g.names)
    ) r
    where exists (select from pg_roles where rolname = g.role)
  loop
    execute format('grant execute on function %s to %I', v_grant.routine, v_grant.role);
  end loop;
  for v_grant in
    select r.rolname as role from pg_roles r
    where r.rolname in ('gapless_publisher', 'gapless_subscriber', 'gapless_admin')
  loop
    execute format('grant usage on schema gapless to %I', v_grant.role);
  end loop;
  -- Membership belongs to the whole server as well: an owner who may not grant it goes on without it.
  if exists (select from pg_roles where rolname = 'gapless_admin')
    and not (
      pg_has_role('gapless_admin', 'gapless_publisher', 'member')
      and pg_has_role('gapless_admin', 'gapless_subscriber', 'member')
    )
  then
    begin
      grant gapless_publisher, gapless_subscriber to gapless_admin;
    exception
      when insufficient_privilege then
        raise warning 'role gapless_admin is no member of the other two and % cannot change that', current_user;
    end;
  end if;
  if exists (select from pg_roles where rolname = 'gapless_subscriber') then
    grant select on gapless.log_counter, gapless.event_feed, gapless.log_feed, gapless.consumer_lag to gapless_subscriber;
  end if;
end
$$;

/*
 * What outdated.sql set aside goes, and who may execute what took its place is as if it had been replaced. The owner
 * becomes the grantor, also of what somebody granted who had it with grant option.
 */
do $$
declare
  v_outdated record;
  v_grant record;
begin
  for v_outdated in
    select
      p.oid::regprocedure as routine, p.proowner as owner, p.proacl as acl,
      array(
        select s.oid::regprocedure from pg_proc s
        where s.pronamespace = p.pronamespace and p.proname = 'outdated:' || s.proname
      ) as successors
    from pg_proc p
    where p.pronamespace = 'gapless'::regnamespace and p.proname like 'outdated:%'
  loop
    for v_grant in
      select r.rolname as role, case when bool_or(a.is_grantable) then ' with grant option' else '' end as option
      from aclexplode(v_outdated.acl) a
      join pg_roles r on r.oid = a.grantee
      where a.grantee <> v_outdated.owner
      group by r.rolname
      order by r.rolname
    loop
      if cardinality(v_outdated.successors) = 1 then
        execute format(
          'grant execute on function %s to %I%s', v_outdated.successors[1], v_grant.role, v_grant.option
        );
      else
        raise warning 'role % could execute %, and which function took its place is not clear: grant what it needs',
          v_grant.role, regexp_replace(v_outdated.routine::text, '"outdated:(\w+)"', '\1');
      end if;
    end loop;
    execute format('drop function %s', v_outdated.routine);
  end loop;
end
$$;
