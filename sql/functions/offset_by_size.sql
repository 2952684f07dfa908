/*
 * Where the newest events of a log begin whose sizes (of data, in bytes) sum to p_max_bytes at most; the newest event is
 * always one of them. Not below the earliest; null while the count lags behind a long log, another call then goes on.
 *
 * The bytes up to every thousandth event are noted in gapless.log_bytes, at most 200,000 events and 20
 * segments in a call, so an event's size is read once as a rule and the answer is exact. How many it counted is noted
 * (gapless.note).
 */
create or replace function gapless.offset_by_size(p_topic_id integer, p_partition integer, p_max_bytes bigint)
returns bigint
language plpgsql
set enable_seqscan = off
as $$
declare
  v_earliest bigint := gapless.log_earliest(p_topic_id, p_partition);
  v_tip bigint := (select t.log_offset from gapless.log_tip(p_topic_id, p_partition) t);
  v_block bigint := (v_earliest - 1) / 1000 * 1000;
  v_counted bigint;
  v_bytes bigint;
  v_segment record;
  v_end bigint;
  v_room bigint;
  v_first bigint;
begin
  delete from gapless.log_bytes b
  where b.topic_id = p_topic_id and b.partition_id = p_partition and b.to_offset < v_block;
  select b.to_offset, b.bytes into v_counted, v_bytes
  from gapless.log_bytes b
  where b.topic_id = p_topic_id and b.partition_id = p_partition
  order by b.to_offset desc
  limit 1;
  v_counted := coalesce(v_counted, v_block);
  v_bytes := coalesce(v_bytes, 0);
  -- Each segment costs two locks until the transaction ends.
  v_end := least(v_tip / 1000 * 1000, v_counted + 200000, (
    select max(u.to_offset) / 1000 * 1000
    from (
      select s.to_offset
      from gapless.segment s
      where s.topic_id = p_topic_id and s.partition_id = p_partition and s.to_offset > v_counted
      order by s.from_offset
      limit 20
    ) u
  ));
  for v_segment in
    select s.from_offset, greatest(s.from_offset, v_counted + 1) as first, least(s.to_offset, v_end) as last
    from gapless.segment s
    where s.topic_id = p_topic_id and s.partition_id = p_partition and s.to_offset > v_counted and s.from_offset <= v_end
    order by s.from_offset
  loop
    execute format(
      'insert into gapless.log_bytes as b (topic_id, partition_id, to_offset, bytes)'
      ' select $1, $2, c.block, $5 + sum(c.bytes) over (order by c.block)'
      ' from ('
      '   select (e.log_offset + 999) / 1000 * 1000 as block, sum(e.size) as bytes'
      '   from gapless.event_%s_%s_%s e'
      '   where e.topic_id = $1 and e.partition_id = $2 and e.log_offset between $3 and $4'
      '   group by 1'
      ' ) c'
      -- A block that lies in two segments.
      ' on conflict (topic_id, partition_id, to_offset) do update set bytes = excluded.bytes',
      p_topic_id, p_partition, v_segment.from_offset
    ) using p_topic_id, p_partition, v_segment.first, v_segment.last, v_bytes;
    select b.bytes into v_bytes
    from gapless.log_bytes b
    where b.topic_id = p_topic_id and b.partition_id = p_partition
    order by b.to_offset desc
    limit 1;
  end loop;
  perform gapless.note('counted', v_end - v_counted);
  if v_end + 1000 <= v_tip then
    return null;
  end if;

  v_end := greatest(v_end, v_counted);
  v_bytes := v_bytes + coalesce((
    select sum(e.size) from gapless.read_range(p_topic_id, p_partition, v_end + 1, 1000, 9007199254740991) e
    where e.log_offset <= v_tip
  ), 0);
  select b.to_offset, p_max_bytes - (v_bytes - b.bytes) into v_end, v_room
  from gapless.log_bytes b
  where b.topic_id = p_topic_id and b.partition_id = p_partition and b.to_offset >= v_earliest
    and b.bytes >= v_bytes - p_max_bytes
  order by b.to_offset
  limit 1;
  v_end := coalesce(v_end, v_tip);
  v_first := greatest(v_earliest, (v_end - 1) / 1000 * 1000 + 1);
  select min(w.log_offset) into v_first
  from (
    select e.log_offset, sum(e.size) over (order by e.log_offset desc) as bytes
    from gapless.read_range(p_topic_id, p_partition, v_first, 1000, 9007199254740991) e
    where e.log_offset <= v_end
  ) w
  where w.bytes <= coalesce(v_room, p_max_bytes);
  return greatest(v_earliest, least(coalesce(v_first, v_end + 1), v_tip));
end
$$;
