/*
 * Does the next step of dropping what deleted topics have, the one deleted first before the others, and then what
 * deleted groups left; returns 1, or 0 when there is none to do or no lock for it was to be had. Call it again until
 * it returns 0. A topic that is in use keeps none of the others.
 *
 * The first step of a topic takes its table out of gapless.event. That needs a lock which waits for
 * readers and makes others wait behind it, so it gives up after 100 ms, and a call waits for only
 * one such lock; and it is a transaction of its own, so the lock does not last while the segments
 * are dropped. Those go 50 in a step: a topic of thousands would exhaust the lock table. Then its
 * subscriptions are removed one after the other, staged chunks, 100 in a step, and idempotency keys, 10,000 in a step.
 * What a subscription left goes by 10,000 rows of each kind in a step.
 */
create or replace function gapless.drop_deleted_topics()
returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
  v_topic_id integer;
  v_waited boolean := false;
  v_segments text[];
  v_subscription_id integer;
  v_keys integer;
begin
  if not pg_try_advisory_xact_lock(gapless.lock_key(5, 0, 1)) then
    return 0;
  end if;
  for v_topic_id in
    select t.topic_id from gapless.topic t where t.deleted_at is not null order by t.deleted_at
  loop
    begin
      if exists (
        select from pg_inherits i
        where i.inhrelid = to_regclass('gapless.event_' || v_topic_id) and i.inhparent = 'gapless.event'::regclass
      ) then
        continue when v_waited;
        -- Refused at once where somebody reads its segments, so that only the lock of gapless.event is waited for.
        execute format('lock table gapless.event_%s in access exclusive mode nowait', v_topic_id);
        v_waited := true;
        execute format('alter table gapless.event detach partition gapless.event_%s', v_topic_id);
        return 1;
      end if;
      v_segments := array(
        select i.inhrelid::regclass::text
        from pg_inherits i
        where i.inhparent = to_regclass('gapless.event_' || v_topic_id)
        limit 50
      );
      if v_segments <> '{}' then
        execute format('lock table %s in access exclusive mode nowait', array_to_string(v_segments, ', '));
        execute 'drop table ' || array_to_string(v_segments, ', ');
        return 1;
      end if;
      select s.subscription_id into v_subscription_id
      from gapless.subscription s
      where s.topic_id = v_topic_id
      limit 1
      for no key update;
      if found then
        perform gapless.remove_subscription(v_subscription_id);
        return 1;
      end if;
      delete from gapless.load_chunk k
      where k.ctid = any (array(select c.ctid from gapless.load_chunk c where c.topic_id = v_topic_id limit 100));
      if found then
        return 1;
      end if;
      delete from gapless.publish_key k
      where k.ctid = any (array(
        select c.ctid from gapless.publish_key c where c.topic_id = v_topic_id order by c.idempotency_key limit 10000
      ));
      get diagnostics v_keys = row_count;
      if v_keys = 10000 then
        return 1;
      end if;
      execute format('drop table if exists gapless.event_%s', v_topic_id);
      delete from gapless.log_start s where s.topic_id = v_topic_id;
      delete from gapless.segment_due d where d.topic_id = v_topic_id;
      delete from gapless.segment s where s.topic_id = v_topic_id;
      delete from gapless.retention_check c where c.topic_id = v_topic_id;
      delete from gapless.log_bytes b where b.topic_id = v_topic_id;
      delete from gapless.topic t where t.topic_id = v_topic_id;
      return 1;
    exception when lock_not_available or deadlock_detected then
      continue;
    end;
  end loop;
  for v_subscription_id in
    select d.subscription_id from gapless.deleted_subscription d order by d.deleted_at, d.subscription_id
  loop
    begin
      if gapless.thin_subscription(v_subscription_id, 10000) = 0 then
        delete from gapless.deleted_subscription d where d.subscription_id = v_subscription_id;
      end if;
      return 1;
    -- Somebody whose snapshot shows the group still may be at work in it.
    exception when lock_not_available or deadlock_detected then
      continue;
    end;
  end loop;
  return 0;
end
$$;
