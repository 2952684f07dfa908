/*
 * The first offset published at or after p_time; tip + 1 when there is none, earliest when all are.
 *
 * Time never decreases along offsets and offsets have no gaps, so this is a binary search by
 * primary key: about log2(n) one-row probes, no index on time. Raises GP001, GP003, GP004.
 */
create or replace function gapless.offset_at(p_topic text, p_partition integer, p_time timestamptz)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_topic gapless.topic := gapless.find_partition(p_topic, p_partition);
  v_low bigint := gapless.log_earliest(v_topic.topic_id, p_partition);
  v_high bigint;
  v_middle bigint;
  v_time timestamptz;
begin
  if p_time is null then
    raise exception using errcode = 'GP003', message = 'time must not be null', detail = '{"field":"time"}';
  end if;
  select t.log_offset + 1 into v_high from gapless.log_tip(v_topic.topic_id, p_partition) t;
  while v_low < v_high loop
    v_middle := v_low + (v_high - v_low) / 2;
    select e.published_at into v_time
    from gapless.read_range(v_topic.topic_id, p_partition, v_middle, 1, 0) e;
    -- None when it was trimmed and dropped meanwhile, as the oldest are.
    if v_time is null or v_time < p_time then
      v_low := v_middle + 1;
    else
      v_high := v_middle;
    end if;
  end loop;
  return v_low;
end
$$;
