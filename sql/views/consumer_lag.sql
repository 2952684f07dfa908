/*
 * What every group is at in every partition, and how far behind, in events. For people and Spark: name
 * the topic, as each log and each row cost a few index probes.
 */
create or replace view gapless.consumer_lag as
select
  t.name as topic,
  s.name as subscription,
  s.status,
  b.partition_id,
  o.position,
  b.tip,
  greatest(b.tip - greatest(o.position, b.earliest) + 1, 0) + o.in_flight + o.retrying as lag,
  o.in_flight,
  o.retrying,
  o.dead - (
    select count(*)
    from gapless.dead_letter d
    where d.subscription_id = s.subscription_id and d.partition_id = s.partition_id and d.status = 'discarded'
  ) as dead
from gapless.topic t
cross join lateral gapless.log_bounds(t.name) as b
-- Fenced, or the planner would ask for the bounds again for every group.
cross join lateral (
  select i.subscription_id, i.name, i.status, b.partition_id
  from gapless.subscription i
  where i.topic_id = t.topic_id
  offset 0
) as s
cross join lateral (
  select c.position, c.in_flight, c.retrying, c.dead
  from gapless.consumer_offset c
  where c.subscription_id = s.subscription_id and c.partition_id = s.partition_id
  order by c.seq desc
  limit 1
) as o
where t.deleted_at is null;
