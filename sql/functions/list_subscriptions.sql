/*
 * Subscriptions of a topic in the order of their names, after p_after (exclusive), at most p_limit; of those
 * that p_patterns match, names or beginnings of names that end in *, where that is given. Raises GP001.
 */
create or replace function gapless.list_subscriptions(
  p_topic text,
  p_after text default '',
  p_limit integer default 100,
  p_patterns text[] default null
)
returns setof gapless.subscription
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_topic gapless.topic := gapless.find_topic(p_topic);
begin
  return query
  select s.*
  from gapless.subscription s
  where s.topic_id = v_topic.topic_id and s.name > coalesce(p_after, '')
    and gapless.matches_any(s.name, p_patterns)
  order by s.name
  limit greatest(p_limit, 0);
end
$$;
