/*
 * The smallest offset of a log that is still readable; tip + 1 when all of it was trimmed.
 */
create or replace function gapless.log_earliest(p_topic_id integer, p_partition integer)
returns bigint
language sql
stable
as $$
  select coalesce(
    (select s.earliest from gapless.log_start s where s.topic_id = p_topic_id and s.partition_id = p_partition), 1
  )
$$;
