/*
 * Ends all sessions of an actor, such as jwt:alice or key:billing, with their tickets, and returns how many there
 * were. What they were opened with goes on, and may open others: a key until it is revoked, a token of somebody
 * else's until it expires. Raises GP003.
 */
create or replace function gapless.revoke_sessions(p_name text, p_actor text default null)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_sessions integer;
begin
  if length(p_name) not between 1 and 250 or p_name is null then
    raise exception using
      errcode = 'GP003', message = 'an actor is named by 1 to 250 characters', detail = '{"field":"name"}';
  end if;
  delete from gapless.api_key k where k.kind = 'session' and k.name = p_name;
  get diagnostics v_sessions = row_count;
  if v_sessions > 0 then
    perform gapless.audit(
      p_actor, 'revoke_sessions', null, null, jsonb_build_object('name', p_name, 'sessions', v_sessions)
    );
  end if;
  return v_sessions;
end
$$;
