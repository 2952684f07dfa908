/*
 * Opens a session of a browser for p_seconds and returns when it ends: with its key at the latest. p_name is
 * the actor that it stands for. p_key_id is null where no key was shown but a token of somebody else's.
 * A key, or an actor without one, has a hundred sessions at most, as every process keeps them all in memory:
 * the oldest end.
 * Raises GP003 for bad values, GP018 where the key was revoked or has expired.
 */
create or replace function gapless.create_session(
  p_key_id integer,
  p_token_hash bytea,
  p_name text,
  p_scopes text[],
  p_seconds double precision
)
returns timestamptz
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_now timestamptz := gapless.clock();
  v_key_ends_at timestamptz := gapless.check_derived('token_hash', p_token_hash, p_name, p_key_id);
  v_expires_at timestamptz;
begin
  if p_seconds is null or p_seconds not between 0 and 31622400 then
    raise exception using
      errcode = 'GP003', message = 'a session lasts a year at most', detail = '{"field":"seconds"}';
  end if;
  if p_scopes is distinct from '{}' then
    perform gapless.check_scopes(p_scopes);
  end if;
  v_expires_at := least(v_now + make_interval(secs => p_seconds), v_key_ends_at);
  -- Two statements, as each has an index of its own.
  if p_key_id is not null then
    delete from gapless.api_key k
    where k.key_id = any (array(
      select c.key_id
      from gapless.api_key c
      where c.parent_id = p_key_id
      order by c.key_id desc
      offset 99
      for update skip locked
    ));
  else
    delete from gapless.api_key k
    where k.key_id = any (array(
      select c.key_id
      from gapless.api_key c
      where c.kind = 'session' and c.parent_id is null and c.name = p_name
      order by c.key_id desc
      offset 99
      for update skip locked
    ));
  end if;
  insert into gapless.api_key (kind, parent_id, name, token_hash, scopes, created_at, created_by, expires_at)
  values ('session', p_key_id, p_name, p_token_hash, p_scopes, v_now, p_name, v_expires_at);
  return v_expires_at;
end
$$;
