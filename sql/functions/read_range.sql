/*
 * The rows behind gapless.read_events and gapless.read_tail; checks nothing. None for a dropped topic.
 *
 * Gapless offsets bound the range from both sides, to one or two segments as a rule. The stored sizes
 * bound its bytes before data is read: a window over whole events took as long as everything else. The
 * segments are named: through gapless.event, a session that misses one of them
 * (functions/forget_partitions.sql) would skip its events in silence.
 */
create or replace function gapless.read_range(
  p_topic_id integer,
  p_partition integer,
  p_offset bigint,
  p_limit integer,
  p_max_bytes bigint
)
returns setof gapless.event
language plpgsql
as $$
declare
  v_to bigint := least(p_offset, 9223372036854775807 - greatest(p_limit, 0)) + greatest(p_limit, 0) - 1;
  v_segments text;
  v_range text;
  v_bytes bigint;
begin
  select string_agg(
    format('select * from gapless.event_%s_%s_%s', s.topic_id, s.partition_id, s.from_offset), ' union all '
    order by s.from_offset
  )
  into v_segments
  from gapless.segment s
  where s.topic_id = p_topic_id and s.partition_id = p_partition and s.to_offset >= p_offset
    and s.from_offset <= v_to
    and s.from_offset >= (
      select coalesce(max(f.from_offset), 1)
      from gapless.segment f
      where f.topic_id = p_topic_id and f.partition_id = p_partition and f.from_offset <= p_offset
    );
  if v_segments is null then
    return;
  end if;
  v_range := ' from (' || v_segments || ') e where e.topic_id = $1 and e.partition_id = $2 and e.log_offset between $3 and $4';
  execute 'select max(e.log_offset), sum(e.size)' || v_range into v_to, v_bytes using p_topic_id, p_partition, p_offset, v_to;
  if v_to is null then
    return;
  end if;
  if (v_bytes <= p_max_bytes) is not true then
    execute
      'select max(o.log_offset) '
      'from ('
      '  select e.log_offset, sum(e.size) over (order by e.log_offset rows unbounded preceding) - e.size as bytes_before'
      || v_range ||
      ') o '
      'where o.bytes_before = 0 or o.bytes_before < $5'
    into v_to using p_topic_id, p_partition, p_offset, v_to, p_max_bytes;
  end if;
  return query execute
    'select'
    '  e.topic_id, e.partition_id, e.log_offset, e.published_at, e.size, e.id, e.source, e.type, e.subject, e.event_time,'
    '  e.key, e.headers, e.datacontenttype, e.transaction_id, e.data, e.data_bytes'
    || v_range ||
    ' order by e.log_offset'
    using p_topic_id, p_partition, p_offset, v_to;
exception when undefined_table then
  return;
end
$$;
