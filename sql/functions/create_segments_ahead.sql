/*
 * Creates the next segment of logs whose newest segment is half full or more, at most p_limit in a
 * call, and returns how many. One runner at a time: another gets null at once. Raises GP003 for a limit
 * below 1.
 *
 * Publishers note such logs in gapless.segment_due, so an idle run costs nothing, however many logs
 * there are. A topic whose segments somebody else is creating is left for the next run.
 */
create or replace function gapless.create_segments_ahead(p_limit integer default 20)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '200ms'
as $$
declare
  v_log record;
  v_created integer := 0;
begin
  perform gapless.check_limit(p_limit);
  if not pg_try_advisory_xact_lock(gapless.lock_key(5, 0, 0)) then
    return null;
  end if;
  for v_log in
    select d.topic_id, d.partition_id, t.deleted_at
    from gapless.segment_due d
    left join gapless.topic t on t.topic_id = d.topic_id
    order by d.topic_id, d.partition_id
  loop
    exit when v_created >= p_limit;
    continue when not pg_try_advisory_xact_lock(gapless.lock_key(3, v_log.topic_id, 0));
    begin
      if v_log.deleted_at is null then
        select v_created + coalesce(sum(gapless.create_segments(v_log.topic_id, v_log.partition_id, t.segment_end + 1)), 0)
        into v_created
        from gapless.log_tip(v_log.topic_id, v_log.partition_id) t
        where t.log_offset >= t.segment_middle;
      end if;
      delete from gapless.segment_due d
      where d.topic_id = v_log.topic_id and d.partition_id = v_log.partition_id;
    -- The last two for a topic that is being dropped.
    exception when lock_not_available or deadlock_detected or undefined_table or serialization_failure then
      continue;
    end;
  end loop;
  return v_created;
end
$$;
