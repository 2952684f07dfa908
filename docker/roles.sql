/*
 * The two logins of a deployment, to be run once by a superuser, connected to the database of Gapless:
 *
 *   GAPLESS_OWNER_PASSWORD=… GAPLESS_SERVICE_PASSWORD=… psql -d gapless -f docker/roles.sql
 *
 * `gapless_owner` owns the schema and runs `gapless migrate`. `gapless_service` is what replicas log in as: it owns
 * nothing, is a member of gapless_admin, and reaches the data through the functions granted to that role only. The
 * group roles are made here, as the owner may not make roles; their grants are those of sql/roles.sql. Running it
 * again changes the passwords and nothing else. psql 15 or newer.
 */
\set ON_ERROR_STOP on
\getenv owner_password GAPLESS_OWNER_PASSWORD
\getenv service_password GAPLESS_SERVICE_PASSWORD
\if :{?owner_password} \else
  \set owner_password ''
\endif
\if :{?service_password} \else
  \set service_password ''
\endif
-- An empty password would be none, which locks out whoever logs in with one.
select :'owner_password' = '' as owner_lacks, :'service_password' = '' as service_lacks \gset
\if :owner_lacks
  \warn 'set GAPLESS_OWNER_PASSWORD to the password of gapless_owner'
  do $$ begin raise 'nothing was changed'; end $$;
\endif
\if :service_lacks
  \warn 'set GAPLESS_SERVICE_PASSWORD to the password of gapless_service'
  do $$ begin raise 'nothing was changed'; end $$;
\endif
select current_database() as database \gset

do $$
declare
  v_role text;
begin
  foreach v_role in array array[
    'gapless_publisher', 'gapless_subscriber', 'gapless_admin', 'gapless_owner', 'gapless_service'
  ] loop
    if not exists (select from pg_roles r where r.rolname = v_role) then
      execute format('create role %I nologin', v_role);
    end if;
  end loop;
end
$$;

grant gapless_publisher, gapless_subscriber to gapless_admin;
alter role gapless_owner login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password :'owner_password';
alter role gapless_service login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password :'service_password';
grant gapless_admin to gapless_service;
-- So that the gauge of old transactions knows those of other roles as well; the service learns their age alone.
grant pg_read_all_stats to gapless_owner;

-- The owner may create schemas here; everybody else may connect only where it is granted, and make nothing,
-- temporary tables included.
revoke all on database :"database" from public;
grant connect, create on database :"database" to gapless_owner;
grant connect on database :"database" to gapless_service;
revoke create on schema public from public;
