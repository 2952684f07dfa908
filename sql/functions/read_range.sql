/*
 * The rows behind gapless.read_events and gapless.read_tail; checks nothing. None for a dropped topic.
 *
 * Gapless offsets bound the range from both sides, to one or two segments as a rule; the stored size
 * bounds the bytes without reading the data. The segments are named: through gapless.event, a session
 * that misses one of them (functions/forget_partitions.sql) would skip its events in silence.
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
  return query execute
    'select'
    '  e.topic_id, e.partition_id, e.log_offset, e.published_at, e.size, e.id, e.source, e.type, e.subject, e.event_time,'
    '  e.key, e.headers, e.datacontenttype, e.transaction_id, e.data, e.data_bytes '
    'from ('
    '  select r.*, sum(r.size) over (order by r.log_offset rows unbounded preceding) - r.size as bytes_before'
    '  from (' || v_segments || ') r'
    '  where r.topic_id = $1 and r.partition_id = $2 and r.log_offset between $3 and $4'
    ') e '
    'where e.bytes_before = 0 or e.bytes_before < $5 '
    'order by e.log_offset'
    using p_topic_id, p_partition, p_offset, v_to, p_max_bytes;
exception when undefined_table then
  return;
end
$$;
