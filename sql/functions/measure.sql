/*
 * What operators watch, in one snapshot: a row for each topic, with subscription null, and one for each of its groups that
 * is not cancelled, in the order in which they were created. Sums over partitions; the offsets of a topic count
 * the events that were ever published to it. A first row without a topic has the number of all topics as tip, and of
 * all groups as lag.
 *
 * Bounded: the first p_max_topics topics, as far as they have p_max_logs partitions together, and groups as far as these have
 * as many together. What is beyond is left out, always the newest, so what is watched stays watched. Measured: 0.35 s for
 * 1,000 topics with a group each that has something to claim, half of it where each group's statement is planned once only.
 * Raises GP003 for bounds below 1.
 */
create or replace function gapless.measure(p_max_topics integer, p_max_logs integer)
returns table (
  topic text,
  subscription text,
  status text,
  earliest bigint,
  tip bigint,
  lag bigint,
  in_flight bigint,
  retrying bigint,
  dead bigint,
  oldest_claimable_seconds double precision
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz := gapless.clock();
  v_topic record;
  v_group record;
  v_logs bigint := 0;
  v_group_logs bigint := 0;
  v_partition integer;
  v_earliest bigint[];
  v_tip bigint[];
  v_field text := case
    when p_max_topics is null or p_max_topics < 1 then 'max_topics'
    when p_max_logs is null or p_max_logs < 1 then 'max_logs'
  end;
begin
  if v_field is not null then
    raise exception using
      errcode = 'GP003',
      message = v_field || ' must be 1 or more',
      detail = json_build_object('field', v_field)::text;
  end if;
  measure.tip := (select count(*) from gapless.topic t where t.deleted_at is null);
  measure.lag := (
    select count(*)
    from gapless.subscription s
    join gapless.topic t on t.topic_id = s.topic_id and t.deleted_at is null
    where s.status <> 'CANCELLED'
  );
  return next;
  for v_topic in
    select t.topic_id, t.name, t.partitions
    from gapless.topic t
    where t.deleted_at is null
    order by t.topic_id
    limit p_max_topics
  loop
    v_logs := v_logs + v_topic.partitions;
    exit when v_logs > p_max_logs;
    measure.topic := v_topic.name;
    measure.subscription := null;
    measure.status := null;
    measure.lag := null;
    measure.in_flight := null;
    measure.retrying := null;
    measure.dead := null;
    measure.oldest_claimable_seconds := null;
    v_earliest := '{}';
    v_tip := '{}';
    for v_partition in 0 .. v_topic.partitions - 1 loop
      v_earliest := v_earliest || gapless.log_earliest(v_topic.topic_id, v_partition);
      v_tip := v_tip || (select t.log_offset from gapless.log_tip(v_topic.topic_id, v_partition) t);
    end loop;
    measure.earliest := (select sum(e) from unnest(v_earliest) e);
    measure.tip := (select sum(t) from unnest(v_tip) t);
    return next;
    for v_group in
      select s.subscription_id, s.name, s.status
      from gapless.subscription s
      where s.topic_id = v_topic.topic_id and s.status <> 'CANCELLED'
      order by s.subscription_id
    loop
      v_group_logs := v_group_logs + v_topic.partitions;
      exit when v_group_logs > p_max_logs;
      measure.subscription := v_group.name;
      measure.status := v_group.status;
      -- What gapless.subscription_positions says, without looking for the tips once more.
      select
        sum(w.waiting + o.in_flight + o.retrying), sum(o.in_flight), sum(o.retrying),
        sum(o.dead - case when o.dead > 0 then (
          select count(*)
          from gapless.dead_letter d
          where d.subscription_id = v_group.subscription_id and d.partition_id = o.partition_id and d.status = 'discarded'
        ) else 0 end),
        extract(epoch from v_now - min(c.published_at))::float8
      into measure.lag, measure.in_flight, measure.retrying, measure.dead, measure.oldest_claimable_seconds
      from unnest(v_earliest, v_tip) with ordinality as b(earliest, tip, place)
      cross join lateral (
        select n.partition_id, n.position, n.in_flight, n.retrying, n.dead
        from gapless.consumer_offset n
        where n.subscription_id = v_group.subscription_id and n.partition_id = b.place - 1
        order by n.seq desc
        limit 1
      ) o
      cross join lateral (
        select greatest(b.tip - greatest(o.position, b.earliest) + 1, 0) as waiting
      ) w
      cross join lateral (
        select least(
          case when w.waiting > 0 then greatest(o.position, b.earliest) end,
          case when o.retrying > 0 then (
            select min(r.from_offset)
            from gapless.retry_event r
            where r.subscription_id = v_group.subscription_id and r.partition_id = o.partition_id
              and r.lease_id is null and r.due_at <= v_now
          ) end
        ) as log_offset
      ) f
      left join lateral (
        select coalesce(
          (select e.published_at from gapless.read_range(v_topic.topic_id, o.partition_id, f.log_offset, 1, 1) e),
          (
            select d.published_at
            from gapless.dead_letter d
            where d.subscription_id = v_group.subscription_id and d.partition_id = o.partition_id
              and d.log_offset = f.log_offset
          )
        ) as published_at
      ) c on f.log_offset is not null;
      return next;
    end loop;
  end loop;
end
$$;
