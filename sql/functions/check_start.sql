/*
 * The one spelling of a place in a topic, or GP003, naming p_field. These are the places:
 *
 *   {"at": "earliest"}   {"at": "latest"}   {"at": "time", "time": "2026-01-31T12:00:00Z"}
 *   {"at": "offset", "offset": 17}, in each partition   {"at": "offset", "offsets": {"0": 17, "1": 4}}
 *
 * A time has its offset from UTC with it, as it would depend on settings of the session without.
 */
create or replace function gapless.check_start(p_start jsonb, p_field text)
returns jsonb
language plpgsql
stable
as $$
declare
  v_at text := p_start ->> 'at';
  v_offset jsonb;
begin
  if jsonb_typeof(p_start) = 'object' and jsonb_typeof(p_start -> 'at') = 'string' then
    if v_at in ('earliest', 'latest') and p_start - 'at' = '{}' then
      return p_start;
    elsif v_at = 'time' and p_start - 'at' - 'time' = '{}' and jsonb_typeof(p_start -> 'time') = 'string'
      and p_start ->> 'time' ~* '^\d{4}-\d\d-\d\dt\d\d:\d\d:\d\d(\.\d+)?(z|[+-]\d\d:\d\d)$'
    then
      return jsonb_build_object('at', 'time', 'time', to_char(
        (p_start ->> 'time')::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
      ));
    elsif v_at = 'offset' and p_start - 'at' in (
      jsonb_build_object('offset', p_start -> 'offset'), jsonb_build_object('offsets', p_start -> 'offsets')
    ) then
      if not p_start ? 'offsets' then
        v_offset := jsonb_build_array(p_start -> 'offset');
      elsif jsonb_typeof(p_start -> 'offsets') = 'object' then
        select coalesce(jsonb_agg(case when o.key ~ '^(0|[1-9][0-9]{0,2})$' then o.value end), '[]') into v_offset
        from jsonb_each(p_start -> 'offsets') o;
      end if;
      if v_offset <> '[]' and not exists (
        select from jsonb_array_elements(v_offset) o where o::text !~ '^[1-9][0-9]{0,17}$'
      ) then
        return p_start;
      end if;
    end if;
  end if;
  raise exception using
    errcode = 'GP003',
    message = format('%s must be earliest, latest, a time with its offset from UTC, or offsets of 1 or more', p_field),
    detail = json_build_object('field', p_field)::text;
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
  raise exception using
    errcode = 'GP003',
    message = format('%s has a time that does not exist', p_field),
    detail = json_build_object('field', p_field)::text;
end
$$;
