/*
 * The live topic of that name. Raises GP001 when there is none.
 */
create or replace function gapless.get_topic(p_topic text)
returns gapless.topic
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$ select gapless.find_topic(p_topic) $$;
