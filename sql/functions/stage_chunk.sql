/*
 * Stages a chunk of a bulk load, to be published together with all others by gapless.publish_load.
 *
 * Nobody sees it before. It is known by p_load (1 to 250 characters), p_task, p_attempt (1 to 255
 * characters: what tells two runs of one task apart) and p_chunk (from 0); staging it again changes
 * nothing. The other parameters are those of gapless.publish, checked in the same way: raises GP001,
 * GP003, GP004, GP008. What is neither published nor discarded goes after a day.
 */
create or replace function gapless.stage_chunk(
  p_topic text,
  p_load text,
  p_task integer,
  p_attempt text,
  p_chunk integer,
  p_data json[] default null,
  p_keys text[] default null,
  p_types text[] default null,
  p_ids text[] default null,
  p_sources text[] default null,
  p_subjects text[] default null,
  p_times timestamptz[] default null,
  p_headers json[] default null,
  p_datacontenttypes text[] default null,
  p_transaction_ids text[] default null,
  p_data_bytes bytea[] default null,
  p_partition integer default null
)
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_topic gapless.topic;
  v_count integer;
  v_partitions integer[];
begin
  if p_partition is null then
    v_topic := gapless.find_topic(p_topic);
  else
    v_topic := gapless.find_partition(p_topic, p_partition);
  end if;
  perform gapless.check_load(p_load);
  if length(p_attempt) not between 1 and 255 or num_nulls(p_task, p_attempt, p_chunk) > 0 then
    raise exception using
      errcode = 'GP003',
      message = 'a chunk has a task, an attempt of 1 to 255 characters and a number',
      detail = '{"field":"attempt"}';
  end if;
  v_count := gapless.check_batch(
    p_data, p_data_bytes, p_keys, p_types, p_ids, p_sources, p_subjects, p_times, p_headers,
    p_datacontenttypes, p_transaction_ids
  );
  v_partitions := gapless.choose_partitions(
    v_topic.partitions, p_partition, p_keys, p_transaction_ids, v_count
  );
  insert into gapless.load_chunk (
    topic_id, load_id, task, attempt, chunk, staged_at, logs, partitions, data, data_bytes, keys, types, ids,
    sources, subjects, times, headers, datacontenttypes, transaction_ids
  )
  values (
    v_topic.topic_id, p_load, p_task, p_attempt, p_chunk, gapless.clock(),
    array(select distinct p from unnest(v_partitions) p order by p), v_partitions,
    p_data, p_data_bytes, p_keys, p_types, p_ids, p_sources, p_subjects, p_times, p_headers,
    p_datacontenttypes, p_transaction_ids
  )
  on conflict do nothing;
end
$$;
