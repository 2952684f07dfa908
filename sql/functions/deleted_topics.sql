/*
 * The numbers of those of these topics, by number and name, that are no more: one of either that another topic has now
 * is not the same. In no order; of what was never there, all.
 */
create or replace function gapless.deleted_topics(p_topic_ids integer[], p_topics text[])
returns setof integer
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select wanted.topic_id
  from unnest(p_topic_ids, p_topics) as wanted(topic_id, name)
  where not exists (
    select from gapless.topic t
    where t.topic_id = wanted.topic_id and t.name = wanted.name and t.deleted_at is null
  )
$$;
