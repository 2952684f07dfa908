/*
 * Whether a dead letter has this type (a * at the end stands for any rest), key and reason; null asks nothing.
 */
create or replace function gapless.is_like(
  p_letter gapless.dead_letter,
  p_type text,
  p_key text,
  p_reason text
)
returns boolean
language sql
immutable
as $$
  select (p_type is null or coalesce(
      case when right(p_type, 1) = '*' then starts_with(p_letter.type, left(p_type, -1)) else p_letter.type = p_type end,
      false
    ))
    and (p_key is null or coalesce(p_letter.key = p_key, false))
    and (p_reason is null or p_letter.reason = p_reason)
$$;
