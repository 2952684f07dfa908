/*
 * The whole transactions of a lease that have one of these offsets.
 */
create or replace function gapless.units_with(p_topic_id integer, p_lease gapless.lease, p_offsets int8multirange)
returns int8multirange
language sql
volatile
as $$
  select coalesce(range_agg(int8range(u.from_offset, u.to_offset + 1)), '{}')
  from gapless.lease_units(p_topic_id, p_lease) u
  where p_offsets && int8range(u.from_offset, u.to_offset + 1)
$$;
