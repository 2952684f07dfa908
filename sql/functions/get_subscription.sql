/*
 * The subscription of that name. Raises GP001, GP010.
 */
create or replace function gapless.get_subscription(p_topic text, p_group text)
returns gapless.subscription
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$ select f.subscription from gapless.find_subscription(p_topic, p_group) f $$;
