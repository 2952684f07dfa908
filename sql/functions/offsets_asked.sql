/*
 * The set of offsets that a call on a lease is about: those named, or all of its own up to p_up_to, or all.
 * Raises GP003 for offsets that no event can have.
 */
create or replace function gapless.offsets_asked(p_offsets bigint[], p_up_to bigint, p_lease gapless.lease)
returns int8multirange
language plpgsql
immutable
as $$
declare
  v_all int8multirange := coalesce(p_lease.items + p_lease.failed, '{}');
begin
  if p_offsets is null then
    if p_up_to is null then
      return v_all;
    end if;
    if p_up_to < 0 or p_up_to = 9223372036854775807 then
      raise exception using errcode = 'GP003', message = 'up_to is not an offset', detail = '{"field":"up_to"}';
    end if;
    return v_all * int8multirange(int8range(null, p_up_to + 1));
  end if;
  if cardinality(p_offsets) > 10000 then
    raise exception using errcode = 'GP003', message = 'at most 10,000 offsets', detail = '{"field":"offsets"}';
  end if;
  if exists (select from unnest(p_offsets) o where o is null or o < 1 or o = 9223372036854775807) then
    raise exception using errcode = 'GP003', message = 'offsets start at 1', detail = '{"field":"offsets"}';
  end if;
  return (select coalesce(range_agg(int8range(o, o + 1)), '{}') from unnest(p_offsets) o);
end
$$;
