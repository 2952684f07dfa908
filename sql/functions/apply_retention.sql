/*
 * Does a step of retention, see gapless.retain_log: looks at up to 100 logs whose events may be old or many
 * enough to go, chosen at random, until 5 of them start later, and returns how
 * many do or are not counted to the end. Call it again until it returns 0. One
 * runner at a time: another gets null at once. For READ COMMITTED only (25001): an old snapshot would not show new subscriptions.
 *
 * A log is looked at when its oldest event is old enough, or if its topic has max_bytes; all that are not are told apart in
 * one statement over gapless.retention_check. A topic without retention costs nothing.
 */
create or replace function gapless.apply_retention()
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
  v_now timestamptz := gapless.clock();
  v_log record;
  v_moved bigint := 0;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = '25001', message = 'retention runs in READ COMMITTED only';
  end if;
  if not pg_try_advisory_xact_lock(gapless.lock_key(5, 0, 2)) then
    return null;
  end if;
  for v_log in
    select t.topic_id, p.id as partition_id
    from gapless.topic t
    cross join lateral generate_series(0, t.partitions - 1) as p(id)
    left join gapless.retention_check c on c.topic_id = t.topic_id and c.partition_id = p.id
    where t.deleted_at is null
      and (
        t.max_bytes is not null
        or num_nonnulls(t.retention_seconds, t.max_retention_seconds) > 0 and coalesce(c.due_at <= v_now, true)
      )
    order by random()
    limit 100
  loop
    -- Segments that were opened and topics that were looked at stay locked until the end.
    exit when v_moved >= 5;
    begin
      if gapless.retain_log(v_log.topic_id, v_log.partition_id) then
        v_moved := v_moved + 1;
      end if;
    exception when lock_not_available or deadlock_detected or serialization_failure then
      continue;
    end;
  end loop;
  return v_moved;
end
$$;
