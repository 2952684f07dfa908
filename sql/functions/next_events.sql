/*
 * Where the next lease of events from p_offset on ends: at most p_limit events and about p_max_bytes,
 * at least one event, and on to the end of the last one's transaction. Null when there is none yet.
 *
 * The segment is asked by its own name, as planning a query over all of them costs more than the
 * query; so a lease also ends where its segment does. Offsets have no gaps, so counting is enough
 * as a rule, and plans in half the time of anything that looks at single events.
 */
create or replace function gapless.next_events(
  p_topic_id integer,
  p_partition integer,
  p_offset bigint,
  p_limit bigint,
  p_max_bytes bigint
)
returns bigint
language plpgsql
volatile
as $$
declare
  v_segment bigint;
  v_to bigint;
  v_count bigint;
  v_bytes bigint;
  v_in_transactions bigint;
  v_last bigint;
begin
  select s.from_offset, least(s.to_offset, p_offset + p_limit - 1) into v_segment, v_to
  from gapless.segment s
  where s.topic_id = p_topic_id and s.partition_id = p_partition and s.from_offset <= p_offset
  order by s.from_offset desc
  limit 1;
  if v_segment is null or v_to < p_offset then
    return null;
  end if;
  execute
    'select count(*), sum(e.size), count(e.transaction_id)'
    ' from gapless.event_' || p_topic_id || '_' || p_partition || '_' || v_segment || ' e'
    ' where e.topic_id = $1 and e.partition_id = $2 and e.log_offset between $3 and $4'
  into v_count, v_bytes, v_in_transactions
  using p_topic_id, p_partition, p_offset, v_to;
  if v_count = 0 then
    return null;
  end if;
  v_last := p_offset + v_count - 1;
  if v_bytes > p_max_bytes then
    v_last := (
      select max(e.log_offset)
      from (
        select o.log_offset, sum(o.size) over (order by o.log_offset rows unbounded preceding) - o.size as bytes_before
        from gapless.read_outline(p_topic_id, p_partition, p_offset, v_last) o
      ) e
      where e.bytes_before = 0 or e.bytes_before < p_max_bytes
    );
  end if;
  if v_in_transactions > 0 then
    return gapless.transaction_end(p_topic_id, p_partition, v_last);
  end if;
  return v_last;
end
$$;
