/*
 * API keys that were not revoked, also expired ones, in the order of their names, after p_after (exclusive),
 * at most p_limit; nothing of their tokens.
 */
create or replace function gapless.list_keys(p_after text default '', p_limit integer default 100)
returns table (
  key_id integer,
  name text,
  scopes text[],
  created_at timestamptz,
  created_by text,
  expires_at timestamptz
)
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select k.key_id, k.name, k.scopes, k.created_at, k.created_by, k.expires_at
  from gapless.api_key k
  where k.kind = 'key' and k.revoked_at is null and k.name > coalesce(p_after, '')
  order by k.name
  limit greatest(p_limit, 0)
$$;
