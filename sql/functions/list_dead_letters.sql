/*
 * Dead letters of a group in the order in which they died first, from the first one after p_after (a
 * dead_letter_id), as many as p_max_bytes of them and their errors take, but at least one; p_status null lists all of
 * them. p_type may end in *; p_key and p_reason are compared whole. Raises GP001, GP003, GP010.
 */
create or replace function gapless.list_dead_letters(
  p_topic text,
  p_group text,
  p_status text default 'dead',
  p_partition integer default null,
  p_after bigint default 0,
  p_limit integer default 100,
  p_type text default null,
  p_key text default null,
  p_reason text default null,
  p_max_bytes bigint default null
)
returns setof gapless.dead_letter
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_custom_plan
set enable_sort = off
as $$
declare
  v_subscription gapless.subscription := gapless.get_subscription(p_topic, p_group);
begin
  if p_status is not null and p_status not in ('dead', 'redriven', 'discarded') then
    raise exception using
      errcode = 'GP003', message = 'status is dead, redriven or discarded', detail = '{"field":"status"}';
  end if;
  if p_limit is null or p_limit not between 1 and 10000 then
    raise exception using errcode = 'GP003', message = 'limit must be 1 to 10,000', detail = '{"field":"limit"}';
  end if;
  -- In an order that one index has: by the primary key, which looks as cheap, it would walk the letters of other groups.
  return query
  select d.*
  from (
    -- Without their payloads, of which most may be on later pages.
    select l.subscription_id, l.dead_letter_id, sum(l.bytes) over running - l.bytes as bytes_before
    from (
      select d.subscription_id, d.dead_letter_id, coalesce(d.size, 0) + octet_length(d.errors::text) as bytes
      from gapless.dead_letter d
      where (d.subscription_id, d.dead_letter_id) > (v_subscription.subscription_id, p_after)
        and d.subscription_id <= v_subscription.subscription_id
        and (p_status is null or d.status = p_status)
        and (p_partition is null or d.partition_id = p_partition)
        and gapless.is_like(d, p_type, p_key, p_reason)
      order by d.subscription_id, d.dead_letter_id
      limit p_limit
    ) l
    window running as (order by l.subscription_id, l.dead_letter_id rows unbounded preceding)
  ) c
  join gapless.dead_letter d on d.dead_letter_id = c.dead_letter_id
  where c.bytes_before = 0 or (c.bytes_before < p_max_bytes) is not false
  order by c.subscription_id, c.dead_letter_id;
end
$$;
