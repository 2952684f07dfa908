/*
 * Raises GP003, naming the field, unless every setting is within its limits. Retention settings may be null: off.
 */
create or replace function gapless.check_topic_settings(
  p_partitions integer,
  p_description text,
  p_segment_events bigint,
  p_idempotency_seconds integer,
  p_semantics text,
  p_retention_seconds bigint,
  p_max_retention_seconds bigint,
  p_max_bytes bigint
)
returns void
language plpgsql
immutable
as $$
declare
  v_field text := case
    when p_partitions is null or p_partitions not between 1 and 256 then 'partitions'
    when length(p_description) > 1000 then 'description'
    when p_segment_events is null or p_segment_events not between 1000 and 1000000000 then 'segment_events'
    when p_idempotency_seconds is null or p_idempotency_seconds not between 60 and 2592000 then 'idempotency_seconds'
    when p_semantics is null or p_semantics not in ('pub_sub', 'queue') then 'semantics'
    when p_retention_seconds not between 0 and 315360000 then 'retention_seconds'
    when p_max_retention_seconds not between 1 and 315360000 then 'max_retention_seconds'
    when p_max_bytes not between 1 and 9007199254740991 then 'max_bytes'
  end;
begin
  if v_field is not null then
    raise exception using
      errcode = 'GP003',
      message = case v_field
        when 'partitions' then 'partitions must be 1 to 256'
        when 'description' then 'description must be at most 1,000 characters'
        when 'segment_events' then 'segment_events must be 1,000 to 1,000,000,000'
        when 'idempotency_seconds' then 'idempotency_seconds must be 60 to 2,592,000'
        when 'semantics' then 'semantics must be "pub_sub" or "queue"'
        when 'retention_seconds' then 'retention_seconds must be 0 to 315,360,000, or null to keep events for ever'
        when 'max_retention_seconds' then 'max_retention_seconds must be 1 to 315,360,000, or null for no cap'
        else 'max_bytes must be 1 to 9,007,199,254,740,991, or null for no cap'
      end,
      detail = json_build_object('field', v_field)::text;
  end if;
end
$$;
