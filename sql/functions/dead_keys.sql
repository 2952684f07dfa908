/*
 * Those of these keys that dead letters of this partition have which were neither redriven nor discarded, and the
 * smallest offset of each. Looked up one by one, as there may be any number of dead letters.
 *
 * Nothing is compared as another index would have it: a planner that knows no statistics takes all indexes for equally
 * good, and those that lack the key read all dead letters of the partition. Whoever calls it plans with
 * enable_bitmapscan = off, so that the first of a key is enough.
 */
create or replace function gapless.dead_keys(p_subscription_id integer, p_partition integer, p_keys text[])
returns table (key text, from_offset bigint)
language sql
stable
as $$
  select k.key, l.log_offset
  from unnest(p_keys) as k(key)
  cross join lateral (
    select d.log_offset
    from gapless.dead_letter d
    where
      hashtextextended(case d.status when 'dead' then d.key end, (d.subscription_id::bigint << 16) + d.partition_id)
        = hashtextextended(k.key, (p_subscription_id::bigint << 16) + p_partition)
      and d.key = k.key
      and (d.subscription_id, d.partition_id) is not distinct from (p_subscription_id, p_partition)
    order by d.log_offset
    limit 1
  ) l
$$;
