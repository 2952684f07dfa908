/*
 * The held keys, see gapless.held_keys, and these from p_offset on, where they are not held from before it already.
 */
create or replace function gapless.hold_keys(p_held jsonb, p_keys text[], p_offset bigint)
returns jsonb
language sql
immutable
as $$
  select case
    when p_keys is null or (
      p_held ?& p_keys and not exists (select from unnest(p_keys) k where (p_held ->> k)::bigint > p_offset)
    ) then p_held
    else p_held || (
      select jsonb_object_agg(k, least((p_held ->> k)::bigint, p_offset)) from unnest(p_keys) k
    )
  end
$$;
