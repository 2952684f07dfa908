/*
 * Raises GP003 for a reason of more than 1,000 characters.
 */
create or replace function gapless.check_reason(p_reason text)
returns void
language plpgsql
immutable
as $$
begin
  if length(p_reason) > 1000 then
    raise exception using
      errcode = 'GP003', message = 'a reason has at most 1,000 characters', detail = '{"field":"reason"}';
  end if;
end
$$;
