/*
 * Raises GP003 for what cannot be the id of a bulk load.
 */
create or replace function gapless.check_load(p_load text)
returns void
language plpgsql
immutable
as $$
begin
  if p_load is null or length(p_load) not between 1 and 250 then
    raise exception using
      errcode = 'GP003', message = 'the id of a load is 1 to 250 characters', detail = '{"field":"load"}';
  end if;
end
$$;
