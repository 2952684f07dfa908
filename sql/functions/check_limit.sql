/*
 * Raises GP003 unless a limit is 1 or more. Null would be none, and a call would do all there is in one transaction.
 */
create or replace function gapless.check_limit(p_limit integer)
returns void
language plpgsql
immutable
as $$
begin
  if p_limit is null or p_limit < 1 then
    raise exception using errcode = 'GP003', message = 'limit must be 1 or more', detail = '{"field":"limit"}';
  end if;
end
$$;
