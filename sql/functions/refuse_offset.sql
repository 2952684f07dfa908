/*
 * Raises GP006: p_tip is the tip, and not p_expected.
 */
create or replace function gapless.refuse_offset(p_partition integer, p_tip bigint, p_expected bigint)
returns void
language plpgsql
immutable
as $$
begin
  raise exception using
    errcode = 'GP006',
    message = format('the tip of partition %s is %s, not %s', p_partition, p_tip, p_expected),
    detail = json_build_object('partition', p_partition, 'tip', p_tip)::text;
end
$$;
