/*
 * Whether a name is one of these, or begins as one of those that end in *. Null patterns match everything,
 * none match nothing.
 */
create or replace function gapless.matches_any(p_name text, p_patterns text[])
returns boolean
language sql
immutable
as $$
  select p_patterns is null or exists (
    select from unnest(p_patterns) p
    where case when right(p, 1) = '*' then starts_with(p_name, left(p, -1)) else p = p_name end
  )
$$;
