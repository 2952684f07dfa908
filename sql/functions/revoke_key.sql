/*
 * Ends an API key, its sessions and the tickets of them all, and returns how many sessions there were.
 * Raises GP018, also for a second call.
 *
 * The row is changed before the sessions are looked for: whoever opens one holds the row (functions/
 * create_session.sql), so a session is either seen here or refused there.
 */
create or replace function gapless.revoke_key(p_name text, p_actor text default null)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key_id integer;
  v_sessions integer;
begin
  update gapless.api_key k
  set revoked_at = gapless.clock()
  where k.kind = 'key' and k.name = p_name and k.revoked_at is null
  returning k.key_id into v_key_id;
  if not found then
    raise exception using
      errcode = 'GP018', message = format('there is no active key "%s"', left(p_name, 200));
  end if;
  delete from gapless.api_key k where k.parent_id = v_key_id;
  get diagnostics v_sessions = row_count;
  delete from gapless.stream_ticket t where t.key_id = v_key_id;
  perform gapless.audit(
    p_actor, 'revoke_key', null, null, jsonb_build_object('key', p_name, 'sessions', v_sessions)
  );
  return v_sessions;
end
$$;
