/*
 * Ends a session, with its tickets, and returns whether there was one.
 */
create or replace function gapless.end_session(p_token_hash bytea)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
  delete from gapless.api_key k where k.token_hash = p_token_hash and k.kind = 'session';
  return found;
end
$$;
