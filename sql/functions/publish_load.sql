/*
 * Publishes a bulk load: every chunk of the tasks and attempts named, in this order, in one transaction.
 *
 * p_chunks[i] is how many chunks p_attempts[i] of p_tasks[i] staged; GP016 unless all of them are
 * there. What other attempts staged is dropped. The answer has a row for each log: its events are
 * first_offset to last_offset, without a stranger between them; no row for a load without events.
 *
 * p_fingerprint tells the contents of loads apart. For as long as the topic keeps idempotency keys a
 * second call for the same load and fingerprint publishes nothing and returns the first answer
 * (replayed); with another fingerprint it raises GP007. Raises GP001, GP003, and 40001 as
 * gapless.publish does.
 *
 * All logs of the load stay locked until it is published: other publishers to them wait.
 */
create or replace function gapless.publish_load(
  p_topic text,
  p_load text,
  p_tasks integer[],
  p_attempts text[],
  p_chunks integer[],
  p_fingerprint bytea
)
returns table (partition_id integer, first_offset bigint, last_offset bigint, replayed boolean)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_topic gapless.topic := gapless.find_topic(p_topic);
  -- An Idempotency-Key has no tab, so nobody publishes under the key of a load by HTTP.
  v_key text := E'\tload' || p_load;
  v_stored gapless.publish_key;
  v_found bigint;
  v_logs integer[];
  v_firsts bigint[];
  v_lasts bigint[];
  v_chunk gapless.load_chunk;
begin
  perform gapless.check_load(p_load);
  if p_fingerprint is null or num_nulls(p_tasks, p_attempts, p_chunks) > 0
    or cardinality(p_tasks) <> cardinality(p_attempts) or cardinality(p_tasks) <> cardinality(p_chunks)
    or exists (select from unnest(p_tasks) t group by t having count(*) > 1 or t is null)
    or array_position(p_attempts, null) is not null
    or exists (select from unnest(p_chunks) c where (c >= 0) is not true)
  then
    raise exception using
      errcode = 'GP003',
      message = 'a load is published with a fingerprint and, once for each task, its attempt and number of chunks',
      detail = '{"field":"tasks"}';
  end if;

  perform pg_advisory_xact_lock(gapless.load_key(v_topic.topic_id, p_load));
  -- Locked for the reason that gapless.publish has.
  select * into v_stored
  from gapless.publish_key k
  where k.topic_id = v_topic.topic_id and k.idempotency_key = v_key and k.expires_at > gapless.clock()
  for no key update;
  if found then
    if v_stored.fingerprint <> p_fingerprint then
      raise exception using errcode = 'GP007', message = 'a load of this id was published with other contents';
    end if;
    delete from gapless.load_chunk c where c.topic_id = v_topic.topic_id and c.load_id = p_load;
    return query
      select s.log, v_stored.offsets[2 * s.place - 1], v_stored.offsets[2 * s.place], true
      from unnest(v_stored.partitions) with ordinality as s(log, place);
    return;
  end if;

  select count(*) into v_found
  from unnest(p_tasks, p_attempts, p_chunks) as n(task, attempt, chunks)
  join gapless.load_chunk c
    on c.topic_id = v_topic.topic_id and c.load_id = p_load and c.task = n.task and c.attempt = n.attempt
    and c.chunk between 0 and n.chunks - 1;
  if v_found <> (select coalesce(sum(n), 0) from unnest(p_chunks) n) then
    raise exception using
      errcode = 'GP016',
      message = format('%s chunks of the load are there, not %s', v_found, (select sum(n) from unnest(p_chunks) n)),
      hint = 'What is staged goes after a day. Run the job again.';
  end if;

  v_logs := array(
    select distinct l.log
    from unnest(p_tasks, p_attempts, p_chunks) as n(task, attempt, chunks)
    join gapless.load_chunk c
      on c.topic_id = v_topic.topic_id and c.load_id = p_load and c.task = n.task and c.attempt = n.attempt
      and c.chunk between 0 and n.chunks - 1
    cross join unnest(c.logs) as l(log)
    order by l.log
  );
  perform gapless.lock_partitions(v_topic.topic_id, v_logs);
  v_firsts := array(
    select t.log_offset + 1
    from unnest(v_logs) with ordinality as l(log, place)
    cross join gapless.log_tip(v_topic.topic_id, l.log) t
    order by l.place
  );
  for v_chunk in
    select c.*
    from unnest(p_tasks, p_attempts, p_chunks) with ordinality as n(task, attempt, chunks, place)
    join gapless.load_chunk c
      on c.topic_id = v_topic.topic_id and c.load_id = p_load and c.task = n.task and c.attempt = n.attempt
      and c.chunk between 0 and n.chunks - 1
    order by n.place, c.chunk
  loop
    perform gapless.append_events(
      v_topic.topic_id, v_chunk.partitions, v_chunk.data, v_chunk.data_bytes, v_chunk.keys, v_chunk.types,
      v_chunk.ids, v_chunk.sources, v_chunk.subjects, v_chunk.times, v_chunk.headers,
      v_chunk.datacontenttypes, v_chunk.transaction_ids, null
    );
  end loop;
  v_lasts := array(
    select t.log_offset
    from unnest(v_logs) with ordinality as l(log, place)
    cross join gapless.log_tip(v_topic.topic_id, l.log) t
    order by l.place
  );

  insert into gapless.publish_key as k (topic_id, idempotency_key, fingerprint, partitions, offsets, expires_at)
  values (
    v_topic.topic_id, v_key, p_fingerprint, v_logs,
    array(
      select o
      from unnest(v_firsts, v_lasts) with ordinality as l(first, last, place)
      cross join unnest(array[l.first, l.last]) with ordinality as b(o, bound)
      order by l.place, b.bound
    ),
    gapless.clock() + make_interval(secs => v_topic.idempotency_seconds)
  )
  on conflict (topic_id, idempotency_key) do update
  set fingerprint = excluded.fingerprint, partitions = excluded.partitions,
      offsets = excluded.offsets, expires_at = excluded.expires_at;
  delete from gapless.load_chunk c where c.topic_id = v_topic.topic_id and c.load_id = p_load;
  return query
    select l.log, l.first, l.last, false from unnest(v_logs, v_firsts, v_lasts) as l(log, first, last);
end
$$;
