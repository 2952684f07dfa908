/*
 * Stores a new API key by the SHA-256 of its token, until p_expires_at if that is given, and returns it.
 * Raises GP003 for bad values, GP017 where there is an active key of that name or with that token; one that
 * has expired keeps its name until it is revoked.
 */
create or replace function gapless.create_key(
  p_name text,
  p_token_hash bytea,
  p_scopes text[],
  p_expires_at timestamptz default null,
  p_actor text default null
)
returns table (
  key_id integer,
  name text,
  scopes text[],
  created_at timestamptz,
  created_by text,
  expires_at timestamptz
)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := gapless.clock();
  v_key gapless.api_key;
begin
  if p_name is null or p_name !~ '^[a-z0-9][a-z0-9._-]{0,199}$' then
    raise exception using
      errcode = 'GP003',
      message = 'the name of a key is 1 to 200 characters of a-z, 0-9, ".", "_", "-" and starts with a letter or digit',
      detail = '{"field":"name"}';
  end if;
  if octet_length(p_token_hash) is distinct from 32 then
    raise exception using
      errcode = 'GP003', message = 'a token is stored as its SHA-256, 32 bytes', detail = '{"field":"token_hash"}';
  end if;
  perform gapless.check_scopes(p_scopes);
  if p_expires_at <= v_now or not isfinite(p_expires_at) then
    raise exception using
      errcode = 'GP003', message = 'a key expires in the future, or never', detail = '{"field":"expires_at"}';
  end if;
  begin
    insert into gapless.api_key as k (kind, name, token_hash, scopes, created_at, created_by, expires_at)
    values ('key', p_name, p_token_hash, p_scopes, v_now, coalesce(p_actor, session_user), p_expires_at)
    returning * into v_key;
  exception when unique_violation then
    raise exception using
      errcode = 'GP017',
      message = format('there is an active key "%s"; choose another name, also for one that is to replace it', p_name);
  end;
  perform gapless.audit(
    p_actor, 'create_key', null, null,
    jsonb_build_object('key', p_name, 'scopes', p_scopes, 'expires_at', gapless.format_time(p_expires_at))
  );
  return query
  select v_key.key_id, v_key.name, v_key.scopes, v_key.created_at, v_key.created_by, v_key.expires_at;
end
$$;
