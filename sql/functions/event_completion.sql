/*
 * How many groups an event is for, how many of them are done with it, and the names of the others.
 *
 * Derived from what the groups are at, so it cannot be wrong or stale: a group is done with what lies
 * below its position and is neither leased nor to be retried. Groups that are ACTIVE or PAUSED count, and
 * those among them that began at the event or before; where p_patterns is given, only those that it matches, names or
 * beginnings of names that end in *. Raises GP001, GP003, GP004, and GP005 for one that is gone.
 */
create or replace function gapless.event_completion(
  p_topic text,
  p_partition integer,
  p_offset bigint,
  p_patterns text[] default null,
  out required_groups integer,
  out completed_groups integer,
  out pending text[]
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_topic gapless.topic := gapless.find_partition(p_topic, p_partition);
  v_earliest bigint := gapless.log_earliest(v_topic.topic_id, p_partition);
  v_tip bigint := (select t.log_offset from gapless.log_tip(v_topic.topic_id, p_partition) t);
begin
  if p_offset is null or p_offset < 1 or p_offset > v_tip then
    raise exception using
      errcode = 'GP003',
      message = format('offset must be 1 to %s, the newest of partition %s', v_tip, p_partition),
      detail = json_build_object('field', 'offset', 'tip', v_tip)::text;
  end if;
  perform gapless.refuse_trimmed(p_partition, p_offset, v_earliest);
  select count(*), count(*) filter (where g.done), coalesce(array_agg(g.name order by g.name) filter (where not g.done), '{}')
  into required_groups, completed_groups, pending
  from (
    select
      s.name,
      p_offset < o.position
        and not exists (
          select from gapless.find_leases(s.subscription_id, p_partition, o.leases) l
          where l.items @> p_offset
        )
        and not exists (
          select
          from (
            select r.to_offset
            from gapless.retry_event r
            where r.subscription_id = s.subscription_id and r.partition_id = p_partition
              and r.from_offset <= p_offset
            order by r.from_offset desc
            limit 1
          ) r
          where r.to_offset >= p_offset
        ) as done
    from gapless.subscription s
    cross join lateral (
      select c.position, c.started_from, c.leases
      from gapless.consumer_offset c
      where c.subscription_id = s.subscription_id and c.partition_id = p_partition
      order by c.seq desc
      limit 1
    ) o
    where s.topic_id = v_topic.topic_id and s.status in ('ACTIVE', 'PAUSED') and o.started_from <= p_offset
      and gapless.matches_any(s.name, p_patterns)
  ) g;
end
$$;
