/*
 * p_subscription with the settings given, or GP003 with the field of the first that is unknown, of
 * another type or out of its limits. Only max_in_flight and heartbeat_timeout_seconds may be null.
 */
create or replace function gapless.check_subscription_settings(
  p_subscription gapless.subscription,
  p_settings jsonb
)
returns gapless.subscription
language plpgsql
immutable
as $$
declare
  v_setting record;
  v_rule text;
  v_new gapless.subscription;
begin
  if jsonb_typeof(p_settings) is distinct from 'object' then
    raise exception using
      errcode = 'GP003', message = 'settings must be an object', detail = '{"field":"settings"}';
  end if;
  for v_setting in
    select g.key, g.value, k.kind, k.smallest, k.largest, k.choices
    from jsonb_each(p_settings) g
    left join (values
      ('ordering', 'text', null::numeric, null::numeric, array['partition', 'key', 'none']),
      ('on_dead_letter', 'text', null, null, array['block', 'continue']),
      ('delivery', 'text', null, null, array['at_least_once', 'at_most_once']),
      ('lease_seconds', 'number', 0.1, 43200, null),
      ('max_attempts', 'integer', 1, 1000, null),
      ('backoff_seconds', 'number', 0, 86400, null),
      ('max_backoff_seconds', 'number', 0, 86400, null),
      ('max_in_flight', 'integer or null', 1, 1000000, null),
      ('heartbeat_seconds', 'number', 0.1, 86400, null),
      ('heartbeat_timeout_seconds', 'number or null', 0.1, 31536000, null)
    ) as k(key, kind, smallest, largest, choices) on k.key = g.key
  loop
    v_rule := case
      when v_setting.kind is null then 'is no setting'
      when v_setting.kind like '% or null' and v_setting.value = 'null' then null
      when v_setting.kind = 'text' then case
        when jsonb_typeof(v_setting.value) = 'string' and v_setting.value #>> '{}' = any (v_setting.choices) then null
        else 'must be ' || array_to_string(v_setting.choices, ' or ')
      end
      when jsonb_typeof(v_setting.value) <> 'number'
        or not (v_setting.value::text)::numeric between v_setting.smallest and v_setting.largest
        or (v_setting.kind like 'integer%' and (v_setting.value::text)::numeric % 1 <> 0)
      then format('must be %s, %s to %s', v_setting.kind, v_setting.smallest, v_setting.largest)
    end;
    if v_rule is not null then
      raise exception using
        errcode = 'GP003',
        message = format('%s %s', left(v_setting.key, 200), v_rule),
        detail = json_build_object('field', v_setting.key)::text;
    end if;
  end loop;
  begin
    v_new := jsonb_populate_record(p_subscription, p_settings);
  exception when data_exception then
    -- A number that only looks like one of the type, such as 5.0 for an integer.
    raise exception using errcode = 'GP003', message = sqlerrm, detail = '{"field":"settings"}';
  end;
  v_rule := case
    when v_new.ordering = 'none' and v_new.on_dead_letter = 'block' then 'on_dead_letter'
    when v_new.max_backoff_seconds < v_new.backoff_seconds then 'max_backoff_seconds'
    when v_new.heartbeat_timeout_seconds < v_new.heartbeat_seconds then 'heartbeat_timeout_seconds'
  end;
  if v_rule is not null then
    raise exception using
      errcode = 'GP003',
      message = case v_rule
        when 'on_dead_letter' then 'on_dead_letter cannot be block without an ordering'
        when 'max_backoff_seconds' then 'max_backoff_seconds must not be less than backoff_seconds'
        else 'heartbeat_timeout_seconds must not be less than heartbeat_seconds'
      end,
      detail = json_build_object('field', v_rule)::text;
  end if;
  return v_new;
end
$$;
