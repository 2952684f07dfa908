/*
 * Drops what was staged of a bulk load and returns how many chunks. What a task stages later stays
 * until gapless.expire_loads takes it. Waits for a load that is being published. Raises GP001.
 */
create or replace function gapless.discard_load(p_topic text, p_load text)
returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$ select gapless.discard_attempts(p_topic, p_load, '') $$;
