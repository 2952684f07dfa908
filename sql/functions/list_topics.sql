/*
 * Live topics in the order of their names, after p_after (exclusive; null from the first), at most p_limit;
 * of those that p_patterns match, names or beginnings of names that end in *, where that is given.
 */
create or replace function gapless.list_topics(
  p_after text default null,
  p_limit integer default 100,
  p_patterns text[] default null
)
returns setof gapless.topic
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select t.*
  from gapless.topic t
  where t.deleted_at is null and t.name > coalesce(p_after, '') and gapless.matches_any(t.name, p_patterns)
  order by t.name
  limit greatest(p_limit, 0)
$$;
