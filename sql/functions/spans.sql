/*
 * Few ranges that cover a set of offsets, in order. Runs less than 100 offsets apart are one range,
 * as reading what lies between costs less than another query; runs far apart are not.
 */
create or replace function gapless.spans(p_items int8multirange)
returns table (from_offset bigint, to_offset bigint)
language sql
immutable
as $$
  select min(lower(n.run)), max(upper(n.run)) - 1
  from (
    select m.run, count(*) filter (where m.far) over (order by lower(m.run)) as span
    from (
      select r as run, lower(r) - lag(upper(r)) over (order by lower(r)) >= 100 as far
      from unnest(p_items) r
    ) m
  ) n
  group by n.span
  order by 1
$$;
