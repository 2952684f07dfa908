/*
 * Does a step of retention, see gapless.retain_log: looks at up to 100 logs whose events may be old or many
 * enough to go, in the order of their topics and partitions after the place p_after (null for any), until 5 of them start later,
 * a second has passed or 200,000 events were counted for max_bytes. done is how many start later or are not counted
 * to the end, counting whether any is not. looked_to is what the next call goes on after, null once the last log
 * was looked at: whoever calls until then has looked at all. One runner at a time: another gets nothing but nulls,
 * at once. For READ COMMITTED only (25001): an old snapshot would not show new subscriptions.
 *
 * A log is looked at when its oldest event is old enough, or if its topic has max_bytes; all that are not are
 * told apart in one statement over gapless.retention_check. A topic without retention costs nothing.
 */
create or replace function gapless.apply_retention(
  p_after bigint default 0,
  out done bigint,
  out looked_to bigint,
  out counting boolean
)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
  v_now timestamptz := gapless.clock();
  v_after bigint := coalesce(p_after, (select floor(random() * max(t.topic_id))::bigint << 16 from gapless.topic t), 0);
  v_log record;
  v_looked integer := 0;
  v_moved boolean;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = '25001', message = 'retention runs in READ COMMITTED only';
  end if;
  if not pg_try_advisory_xact_lock(gapless.lock_key(5, 0, 2)) then
    return;
  end if;
  done := 0;
  counting := false;
  for v_log in
    select l.*
    from (
      select t.topic_id, p.id as partition_id, (t.topic_id::bigint << 16) + p.id as place
      from gapless.topic t
      cross join lateral generate_series(0, t.partitions - 1) as p(id)
      left join gapless.retention_check c on c.topic_id = t.topic_id and c.partition_id = p.id
      where t.topic_id >= v_after >> 16 and t.deleted_at is null
        and (
          t.max_bytes is not null
          or num_nonnulls(t.retention_seconds, t.max_retention_seconds) > 0 and coalesce(c.due_at <= v_now, true)
        )
    ) l
    where l.place > v_after
    order by l.place
    -- One more than are looked at, which tells that there is more.
    limit 101
  loop
    -- Segments that were opened and topics that were looked at stay locked until the end, and what was counted
    -- would be lost with a statement that takes too long.
    if v_looked = 100 or done >= 5 or v_looked > 0 and (
      gapless.clock() >= v_now + interval '1 second'
      or nullif(current_setting('gapless.noted_counted', true), '')::bigint >= 200000
    ) then
      return;
    end if;
    begin
      v_moved := gapless.retain_log(v_log.topic_id, v_log.partition_id);
      done := done + (v_moved is not false)::integer;
      counting := counting or v_moved is null;
    exception
      when lock_not_available or deadlock_detected or serialization_failure then
        null;
      -- What is wrong with one log must not keep all after it from being looked at.
      when others then
        raise warning 'retention of partition % of topic number % failed: %',
          v_log.partition_id, v_log.topic_id, sqlerrm;
    end;
    v_looked := v_looked + 1;
    looked_to := v_log.place;
  end loop;
  looked_to := null;
end
$$;
