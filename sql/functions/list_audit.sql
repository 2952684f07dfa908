/*
 * What admin calls and upkeep changed, oldest first, after p_after (an audit_id, exclusive), at most
 * p_limit; of one topic or one group of it where these are given, also when they are long deleted.
 */
create or replace function gapless.list_audit(
  p_topic text default null,
  p_group text default null,
  p_after bigint default 0,
  p_limit integer default 100
)
returns setof gapless.audit_log
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
  select a.*
  from gapless.audit_log a
  where (p_topic is null or a.topic = p_topic)
    and (p_group is null or a.subscription = p_group)
    and a.audit_id > coalesce(p_after, 0)
  order by a.audit_id
  limit greatest(p_limit, 0)
$$;
