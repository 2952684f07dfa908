/*
 * The whole transactions of a set of offsets, in order; an event that stands alone is one of its own.
 *
 * keys are the distinct keys in it, null without any; size is in bytes. An event that is no longer
 * in the log stands alone, without a key and a size.
 */
create or replace function gapless.units(p_topic_id integer, p_partition integer, p_items int8multirange)
returns table (from_offset bigint, to_offset bigint, keys text[], size bigint)
language plpgsql
volatile
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  return query
  select min(n.log_offset), max(n.log_offset), array_agg(distinct n.key) filter (where n.key is not null), sum(n.size)::bigint
  from (
    select m.*, count(*) filter (where m.starts) over (order by m.log_offset) as unit
    from (
      select
        o.log_offset, e.key, coalesce(e.size, 0) as size,
        e.transaction_id is null
          or e.transaction_id is distinct from lag(e.transaction_id) over (order by o.log_offset)
          or e.published_at is distinct from lag(e.published_at) over (order by o.log_offset)
          or o.log_offset <> lag(o.log_offset) over (order by o.log_offset) + 1 as starts
      from (select generate_series(lower(r), upper(r) - 1) as log_offset from unnest(p_items) r) o
      left join (
        select l.*
        from gapless.spans(p_items) s
        cross join lateral gapless.read_outline(p_topic_id, p_partition, s.from_offset, s.to_offset) l
      ) e on e.log_offset = o.log_offset
    ) m
  ) n
  group by n.unit
  order by 1;
end
$$;
