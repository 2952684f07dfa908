/*
 * The readable events of one log, which the settings gapless.topic_id and gapless.partition_id name; none without them.
 *
 * What event_feed joins to each event is looked up here once, whatever PostgreSQL believes about the number of events: of a
 * segment made in the last minute it believes that there is one. Name topic_id and partition_id in the statement as
 * well, or its plan opens every segment.
 *
 * A snapshot from before a segment was dropped (REPEATABLE READ) finds nothing of it and is not told so; gapless.read_events
 * tells it.
 */
create or replace view gapless.log_feed as
select
  e.topic_id,
  e.partition_id,
  e.log_offset,
  e.published_at,
  coalesce(e.id, e.partition_id || '-' || e.log_offset) as id,
  coalesce(
    e.source, (select '/v1/topics/' || t.name from gapless.topic t where t.topic_id = log.topic_id)
  ) as source,
  e.type,
  e.subject,
  e.event_time,
  e.key,
  e.headers,
  e.datacontenttype,
  e.transaction_id,
  e.data,
  e.data_bytes
from (
  select
    nullif(current_setting('gapless.topic_id', true), '')::integer as topic_id,
    nullif(current_setting('gapless.partition_id', true), '')::integer as partition_id
) log
join gapless.event e on e.topic_id = log.topic_id and e.partition_id = log.partition_id
where e.log_offset >= (
  select coalesce(s.earliest, 1)
  from gapless.topic t
  left join gapless.log_start s on s.topic_id = t.topic_id and s.partition_id = log.partition_id
  where t.topic_id = log.topic_id and t.deleted_at is null
);
