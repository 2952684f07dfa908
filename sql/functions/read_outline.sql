/*
 * What a range of a log looks like, in order, without the data: keys, transactions and sizes. Checks
 * nothing; what is not in the log is not in the answer.
 *
 * Segments are asked by their own names, like those of gapless.read_range.
 */
create or replace function gapless.read_outline(p_topic_id integer, p_partition integer, p_from bigint, p_to bigint)
returns table (log_offset bigint, published_at timestamptz, key text, transaction_id text, size integer)
language plpgsql
volatile
set enable_seqscan = off
as $$
declare
  v_segment bigint;
begin
  for v_segment in
    select s.from_offset
    from gapless.segment s
    where s.topic_id = p_topic_id and s.partition_id = p_partition and s.from_offset <= p_to and s.to_offset >= p_from
    order by s.from_offset
  loop
    return query execute format(
      'select e.log_offset, e.published_at, e.key, e.transaction_id, e.size from gapless.event_%s_%s_%s e'
      ' where e.topic_id = %1$s and e.partition_id = %2$s and e.log_offset between $1 and $2'
      ' order by e.log_offset',
      p_topic_id, p_partition, v_segment
    ) using p_from, p_to;
  end loop;
end
$$;
