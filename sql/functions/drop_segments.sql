/*
 * Does the next step of giving the space of trimmed events back; returns how many segments it took
 * out or dropped, 0 when there is none to do or its lock was not to be had. Call it again until it returns 0. One
 * runner at a time: another gets null at once.
 *
 * A segment below the earliest offset of its log is taken out of gapless.event first, which needs a lock that waits
 * for the topic's publishers and makes others wait behind it, so it gives up after 100 ms; one log in a call, chosen at
 * random, so that a topic that is never free keeps none of the others. Ten seconds later, when whoever found
 * its name has finished, the table is dropped. The segment of the newest event stays, and with it
 * the count and the time of its log.
 */
create or replace function gapless.drop_segments()
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
  v_table text;
  v_segment gapless.segment;
  v_dropped bigint := 0;
begin
  if not pg_try_advisory_xact_lock(gapless.lock_key(5, 0, 3)) then
    return null;
  end if;
  for v_table in
    select d.table_name
    from gapless.detached_segment d
    where d.detached_at <= gapless.clock() - interval '10 seconds'
    order by random()
    limit 10
  loop
    begin
      if to_regclass(format('gapless.%I', v_table)) is not null then
        execute format('lock table gapless.%I in access exclusive mode nowait', v_table);
        execute format('drop table gapless.%I', v_table);
      end if;
      delete from gapless.detached_segment d where d.table_name = v_table;
      v_dropped := v_dropped + 1;
    exception when lock_not_available or undefined_table then
      continue;
    end;
  end loop;
  if v_dropped > 0 then
    return v_dropped;
  end if;

  select s.* into v_segment
  from gapless.log_start l
  join gapless.topic t on t.topic_id = l.topic_id and t.deleted_at is null
  cross join lateral (
    select f.*
    from gapless.segment f
    where f.topic_id = l.topic_id and f.partition_id = l.partition_id
    order by f.from_offset
    limit 1
  ) s
  where l.earliest > 1 and (
    s.to_offset < l.earliest - 1
    or s.to_offset = l.earliest - 1 and s.to_offset < (
      select n.log_offset from gapless.log_tip(l.topic_id, l.partition_id) n
    )
  )
  order by random()
  limit 1;
  if v_segment.topic_id is null then
    return 0;
  end if;
  v_table := format('event_%s_%s_%s', v_segment.topic_id, v_segment.partition_id, v_segment.from_offset);
  -- Refused at once where somebody reads it, so that only one lock is ever waited for.
  execute format('lock table gapless.%I in access exclusive mode nowait', v_table);
  execute format('alter table gapless.event_%s detach partition gapless.%I', v_segment.topic_id, v_table);
  delete from gapless.segment s
  where s.topic_id = v_segment.topic_id and s.partition_id = v_segment.partition_id
    and s.from_offset = v_segment.from_offset;
  insert into gapless.detached_segment (table_name, detached_at) values (v_table, gapless.clock());
  return 1;
exception when lock_not_available or undefined_table or deadlock_detected then
  return 0;
end
$$;
