/*
 * Whether gapless.retain_log may have something to do in a log, by what it found out before. Takes no lock that
 * anybody waits for.
 */
create or replace function gapless.may_retain(p_topic_id integer, p_partition integer)
returns boolean
language plpgsql
set enable_seqscan = off
as $$
declare
  v_topic gapless.topic;
  v_check gapless.retention_check;
begin
  select * into v_topic from gapless.topic t where t.topic_id = p_topic_id and t.deleted_at is null;
  select * into v_check
  from gapless.retention_check c
  where c.topic_id = p_topic_id and c.partition_id = p_partition;
  if v_check.due_at is null then
    return v_topic.topic_id is not null;
  end if;
  if v_check.due_at <= gapless.clock() and v_topic.max_retention_seconds is not null then
    return true;
  end if;
  if v_topic.max_bytes is not null
    and v_check.sized_to <> (select t.log_offset from gapless.log_tip(p_topic_id, p_partition) t)
  then
    return true;
  end if;
  -- A group that is behind is no news, and is found out without opening a segment.
  return v_check.due_at <= gapless.clock() and v_topic.retention_seconds is not null
    and coalesce(
      gapless.retention_floor(p_topic_id, p_partition) > gapless.log_earliest(p_topic_id, p_partition), true
    );
end
$$;
