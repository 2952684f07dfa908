/*
 * Raises GP003, naming the field, unless a claim's arguments are within their limits.
 */
create or replace function gapless.check_claim(
  p_member text,
  p_max_events integer,
  p_max_bytes bigint,
  p_lease_seconds double precision,
  p_request_id text
)
returns void
language plpgsql
immutable
as $$
declare
  v_field text := case
    when p_member is null or length(p_member) not between 1 and 200 then 'member'
    when p_max_events is null or p_max_events not between 1 and 10000 then 'max_events'
    when p_max_bytes is null or p_max_bytes < 1 then 'max_bytes'
    when length(p_request_id) not between 1 and 200 then 'request_id'
  end;
begin
  if v_field is not null then
    raise exception using
      errcode = 'GP003',
      message = case v_field
        when 'max_events' then 'max_events must be 1 to 10,000'
        when 'max_bytes' then 'max_bytes must be 1 or more'
        else v_field || ' must be 1 to 200 characters'
      end,
      detail = json_build_object('field', v_field)::text;
  end if;
  perform gapless.check_lease_seconds(p_lease_seconds);
end
$$;
