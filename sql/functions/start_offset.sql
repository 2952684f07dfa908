/*
 * The offset that a place, as gapless.check_start returns it, is in one partition; null where it names none.
 *
 * A time is the first event published at or after it. An offset lies between the earliest and the
 * one after the newest: below it is GP005, beyond it GP003, naming p_field. An offset inside a
 * transaction begins with the rest of it. The caller holds the lock of the topic's retention.
 */
create or replace function gapless.start_offset(
  p_topic gapless.topic,
  p_partition integer,
  p_start jsonb,
  p_field text
)
returns bigint
language plpgsql
as $$
declare
  v_earliest bigint := gapless.log_earliest(p_topic.topic_id, p_partition);
  v_next bigint := (select t.log_offset + 1 from gapless.log_tip(p_topic.topic_id, p_partition) t);
  v_offset bigint;
begin
  case p_start ->> 'at'
    when 'earliest' then return v_earliest;
    when 'latest' then return v_next;
    when 'time' then return gapless.offset_at(p_topic.name, p_partition, (p_start ->> 'time')::timestamptz);
    else v_offset := coalesce(p_start -> 'offset', p_start -> 'offsets' -> p_partition::text)::bigint;
  end case;
  perform gapless.refuse_trimmed(p_partition, v_offset, v_earliest);
  if v_offset > v_next then
    raise exception using
      errcode = 'GP003',
      message = format('offset %s of partition %s lies beyond its end; the next is %s', v_offset, p_partition, v_next),
      detail = json_build_object('field', p_field, 'partition', p_partition, 'next', v_next)::text;
  end if;
  return v_offset;
end
$$;
