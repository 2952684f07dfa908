/*
 * The readable events of all logs. Name topic and partition, and bound log_offset, or it reads everything.
 *
 * A snapshot from before a segment was dropped (REPEATABLE READ) finds nothing of it and is not told so; gapless.read_events
 * tells it.
 */
create or replace view gapless.event_feed as
select
  t.name as topic,
  e.topic_id,
  e.partition_id,
  e.log_offset,
  e.published_at,
  coalesce(e.id, e.partition_id || '-' || e.log_offset) as id,
  coalesce(e.source, '/v1/topics/' || t.name) as source,
  e.type,
  e.subject,
  e.event_time,
  e.key,
  e.headers,
  e.datacontenttype,
  e.transaction_id,
  e.data,
  e.data_bytes
from gapless.event e
join gapless.topic t on t.topic_id = e.topic_id and t.deleted_at is null
left join gapless.log_start s on s.topic_id = e.topic_id and s.partition_id = e.partition_id
where e.log_offset >= coalesce(s.earliest, 1);
