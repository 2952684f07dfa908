/*
 * Earliest and next offset of every log, by topic and partition. For people and Spark; each row costs a few index probes.
 */
create or replace view gapless.log_counter as
select
  t.name as topic,
  p.partition_id,
  b.earliest,
  b.tip + 1 as next_offset
from gapless.topic t
cross join lateral generate_series(0, t.partitions - 1) as p(partition_id)
cross join lateral gapless.log_bounds(t.name, p.partition_id) as b
where t.deleted_at is null;
