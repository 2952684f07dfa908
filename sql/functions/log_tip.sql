/*
 * The newest offset of a log and its time; 0 and -infinity for one that was never written.
 *
 * At most the newest segment is still empty, so one of the two newest holds it; each is asked by its
 * own name, as planning a query over all segments costs four times the query. A log whose rows are
 * all gone goes on after the end of the segment before. segment_middle and segment_end are those of
 * the newest segment: where the next one becomes due, and the last offset that fits without it.
 * Raises 40001 when the caller's snapshot still shows a segment that was dropped.
 */
create or replace function gapless.log_tip(
  p_topic_id integer,
  p_partition integer,
  out log_offset bigint,
  out published_at timestamptz,
  out segment_middle bigint,
  out segment_end bigint
)
language plpgsql
stable
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_from bigint;
  v_to bigint;
  v_table text;
begin
  log_tip.segment_end := 0;
  for v_from, v_to in
    select from_offset, to_offset
    from gapless.segment
    where topic_id = p_topic_id and partition_id = p_partition
    order by from_offset desc
    limit 2
  loop
    if log_tip.segment_end = 0 then
      log_tip.segment_middle := (v_from + v_to) / 2;
      log_tip.segment_end := v_to;
    end if;
    v_table := format('gapless.event_%s_%s_%s', p_topic_id, p_partition, v_from);
    if to_regclass(v_table) is null then
      raise exception using errcode = '40001', message = 'the log has moved on since this snapshot was taken';
    end if;
    execute format(
      'select e.log_offset, e.published_at from %s e'
      ' where e.topic_id = %s and e.partition_id = %s order by e.log_offset desc limit 1',
      v_table, p_topic_id, p_partition
    ) into log_tip.log_offset, log_tip.published_at;
    if log_tip.log_offset is not null then
      return;
    end if;
  end loop;
  log_tip.log_offset := coalesce(v_from, 1) - 1;
  log_tip.published_at := '-infinity';
end
$$;
