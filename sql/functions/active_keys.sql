/*
 * Every key and session that is neither revoked nor expired: what a service needs to know a caller by its
 * token. The name is that of the actor; seconds_left is null for one that never expires.
 */
create or replace function gapless.active_keys()
returns table (key_id integer, token_hash bytea, name text, scopes text[], seconds_left double precision)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select
    k.key_id, k.token_hash, case k.kind when 'key' then 'key:' || k.name else k.name end, k.scopes,
    extract(epoch from k.expires_at - c.now)::double precision
  from (select gapless.clock() as now) c
  cross join gapless.api_key k
  where k.revoked_at is null and (k.expires_at is null or k.expires_at > c.now)
$$;
