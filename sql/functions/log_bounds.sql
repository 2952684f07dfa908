/*
 * Earliest and tip of one log, or of every log of the topic when p_partition is null, in their order.
 * An empty log has tip = earliest - 1. Raises GP001, GP004.
 */
create or replace function gapless.log_bounds(p_topic text, p_partition integer default null)
returns table (partition_id integer, earliest bigint, tip bigint)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_topic gapless.topic;
begin
  if p_partition is null then
    v_topic := gapless.find_topic(p_topic);
  else
    v_topic := gapless.find_partition(p_topic, p_partition);
  end if;
  for v_partition in coalesce(p_partition, 0) .. coalesce(p_partition, v_topic.partitions - 1) loop
    log_bounds.partition_id := v_partition;
    log_bounds.earliest := gapless.log_earliest(v_topic.topic_id, v_partition);
    select t.log_offset into log_bounds.tip from gapless.log_tip(v_topic.topic_id, v_partition) t;
    return next;
  end loop;
end
$$;
