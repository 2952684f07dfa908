/*
 * Raises GP005 for an offset below p_earliest, that of its log.
 */
create or replace function gapless.refuse_trimmed(p_partition integer, p_offset bigint, p_earliest bigint)
returns void
language plpgsql
immutable
as $$
begin
  if p_offset < p_earliest then
    raise exception using
      errcode = 'GP005',
      message = format('offset %s of partition %s is gone; the earliest is %s', p_offset, p_partition, p_earliest),
      detail = json_build_object('partition', p_partition, 'requested', p_offset, 'earliest', p_earliest)::text;
  end if;
end
$$;
