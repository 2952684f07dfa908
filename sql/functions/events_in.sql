/*
 * How many offsets a set of them holds.
 */
create or replace function gapless.events_in(p_items int8multirange)
returns bigint
language sql
immutable
as $$ select coalesce(sum(upper(r) - lower(r)), 0)::bigint from unnest(p_items) as r $$;
