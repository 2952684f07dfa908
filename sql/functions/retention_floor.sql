/*
 * The smallest offset of a log that an ACTIVE or PAUSED subscription still needs; null when there
 * is none.
 *
 * It needs what it never claimed, and of what the log still has what it leases and what waits for
 * another delivery, except what was redriven, as the dead letters keep its payload. One statement
 * sees all three at one moment.
 */
create or replace function gapless.retention_floor(p_topic_id integer, p_partition integer)
returns bigint
language sql
stable
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  select min(least(
    coalesce(c.position, 1),
    (
      select min(lower(l.items * int8multirange(int8range(e.earliest, null))))
      from gapless.find_leases(s.subscription_id, p_partition, c.leases) l
    ),
    (
      select greatest(r.from_offset, e.earliest)
      from gapless.retry_event r
      where r.subscription_id = s.subscription_id and r.partition_id = p_partition and not r.redriven
        and r.to_offset >= e.earliest
      order by r.from_offset
      limit 1
    )
  ))
  from gapless.log_earliest(p_topic_id, p_partition) as e(earliest)
  cross join gapless.subscription s
  left join lateral (
    select o.position, o.leases
    from gapless.consumer_offset o
    where o.subscription_id = s.subscription_id and o.partition_id = p_partition
    order by o.seq desc
    limit 1
  ) c on true
  where s.topic_id = p_topic_id and s.status in ('ACTIVE', 'PAUSED')
$$;
