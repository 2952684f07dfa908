/*
 * Raises GP003 for a time that no client could read: outside the years 1 to 9999 in UTC, or infinite.
 */
create or replace function gapless.check_times(p_times timestamptz[])
returns void
language plpgsql
immutable
as $$
begin
  if exists (
    select
    from unnest(p_times) t
    where t not between timestamptz '0001-01-01 00:00:00+00' and timestamptz '9999-12-31 23:59:59.999999+00'
  ) then
    raise exception using
      errcode = 'GP003', message = 'a time is in the years 1 to 9999', detail = '{"field":"time"}';
  end if;
end
$$;
