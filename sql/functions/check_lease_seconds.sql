/*
 * Raises GP003 unless a lease may last that long; null is the group's own setting.
 */
create or replace function gapless.check_lease_seconds(p_lease_seconds double precision)
returns void
language plpgsql
immutable
as $$
begin
  if p_lease_seconds is not null and not p_lease_seconds between 0.1 and 43200 then
    raise exception using
      errcode = 'GP003', message = 'lease_seconds must be 0.1 to 43,200', detail = '{"field":"lease_seconds"}';
  end if;
end
$$;
