/*
 * Whether one of these keys is held at p_offset, see gapless.held_keys.
 */
create or replace function gapless.is_held(p_held jsonb, p_keys text[], p_offset bigint)
returns boolean
language sql
immutable
as $$
  select p_held ?| p_keys and exists (select from unnest(p_keys) k where (p_held ->> k)::bigint < p_offset)
$$;
