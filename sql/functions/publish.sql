/*
 * Publishes a batch to a topic and returns the partition and offset of each event, in its order, the
 * topic's number, and when all of it was published.
 *
 * Atomic: all of it at consecutive offsets per partition, or none. Arrays are as long as the batch
 * or null; each event has either data or data_bytes. The logs stay locked until the transaction
 * ends: a long transaction should use gapless.publish_at_commit instead.
 *
 * p_idempotency_key, 1 to 255 characters. A second call with the same key and content
 * returns the first answer (replayed, without a time), with other content raises GP007; p_fingerprint is what tells
 * contents apart, by default a hash of all arguments. p_expected_offset: the tip that the one partition of the
 * batch must have, or GP006. Raises GP001, GP003, GP004, GP008, and 40001 for a snapshot older than the log.
 */
create or replace function gapless.publish(
  p_topic text,
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
  p_partition integer default null,
  p_expected_offset bigint default null,
  p_idempotency_key text default null,
  p_fingerprint bytea default null,
  out partitions integer[],
  out offsets bigint[],
  out replayed boolean,
  out topic_id integer,
  out published_at timestamptz
)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_topic gapless.topic;
  v_count integer := coalesce(cardinality(p_data), cardinality(p_data_bytes), 0);
  v_fingerprint bytea;
  v_stored gapless.publish_key;
  v_appended record;
begin
  if p_partition is null then
    v_topic := gapless.find_topic(p_topic);
  else
    v_topic := gapless.find_partition(p_topic, p_partition);
  end if;
  publish.topic_id := v_topic.topic_id;
  -- As in gapless.check_batch, a call of which would take some percent of the time of a publish of one event.
  if v_count = 0 then
    raise exception using errcode = 'GP003', message = 'the batch is empty', detail = '{"field":"data"}';
  end if;
  if v_count <> any (array[
    coalesce(cardinality(p_data_bytes), v_count), coalesce(cardinality(p_keys), v_count),
    coalesce(cardinality(p_types), v_count), coalesce(cardinality(p_ids), v_count),
    coalesce(cardinality(p_sources), v_count), coalesce(cardinality(p_subjects), v_count),
    coalesce(cardinality(p_times), v_count), coalesce(cardinality(p_headers), v_count),
    coalesce(cardinality(p_datacontenttypes), v_count), coalesce(cardinality(p_transaction_ids), v_count)
  ]) then
    raise exception using
      errcode = 'GP003', message = 'the arrays of a batch must be equally long', detail = '{"field":"data"}';
  end if;
  if exists (
    select from (select unnest(p_data) as data, unnest(p_data_bytes) as data_bytes) e
    where num_nonnulls(e.data, e.data_bytes) <> 1
  ) then
    raise exception using
      errcode = 'GP003', message = 'each event has either data or data_bytes', detail = '{"field":"data"}';
  end if;
  if p_times is not null then
    perform gapless.check_times(p_times);
  end if;

  if p_idempotency_key is not null then
    if length(p_idempotency_key) not between 1 and 255 then
      raise exception using
        errcode = 'GP003',
        message = 'an idempotency key is 1 to 255 characters',
        detail = '{"field":"idempotency_key"}';
    end if;
    -- Times and bytes in binary: as text they depend on settings of the session.
    v_fingerprint := coalesce(p_fingerprint, sha256(convert_to(
      row(p_data, encode(array_send(p_data_bytes), 'hex'), p_keys, p_types, p_ids, p_sources, p_subjects,
          encode(array_send(p_times), 'hex'), p_headers, p_datacontenttypes, p_transaction_ids, p_partition,
          p_expected_offset)::text, 'UTF8')));
    perform pg_advisory_xact_lock(gapless.publish_key_lock(v_topic.topic_id, p_idempotency_key));
    -- A commit that locked a row waits for synchronous standbys, which the first call's may have been kept from.
    select * into v_stored
    from gapless.publish_key k
    where k.topic_id = v_topic.topic_id and k.idempotency_key = p_idempotency_key and k.expires_at > gapless.clock()
    for no key update;
    if found then
      if v_stored.fingerprint <> v_fingerprint then
        raise exception using
          errcode = 'GP007', message = 'the idempotency key was used for another batch';
      end if;
      publish.partitions := v_stored.partitions;
      publish.offsets := v_stored.offsets;
      publish.replayed := true;
      return;
    end if;
  end if;

  publish.partitions := gapless.choose_partitions(
    v_topic.partitions, p_partition, p_keys, p_transaction_ids, v_count
  );
  if p_expected_offset is not null and exists (
    select from unnest(publish.partitions) p where p <> publish.partitions[1]
  ) then
    raise exception using
      errcode = 'GP003',
      message = 'expected_offset needs a batch that goes to one partition',
      detail = '{"field":"expected_offset"}';
  end if;
  perform gapless.lock_partitions(
    v_topic.topic_id,
    case
      when publish.partitions[1] = all (publish.partitions) then publish.partitions[1:1]
      else array(select distinct p from unnest(publish.partitions) p order by p)
    end
  );
  v_appended := gapless.append_events(
    v_topic.topic_id, publish.partitions, p_data, p_data_bytes, p_keys, p_types, p_ids, p_sources, p_subjects,
    p_times, p_headers, p_datacontenttypes, p_transaction_ids, p_expected_offset
  );
  publish.offsets := v_appended.offsets;
  publish.published_at := v_appended.published_at;
  publish.replayed := false;

  if p_idempotency_key is not null then
    insert into gapless.publish_key as k (topic_id, idempotency_key, fingerprint, partitions, offsets, expires_at)
    values (
      v_topic.topic_id, p_idempotency_key, v_fingerprint, publish.partitions, publish.offsets,
      gapless.clock() + make_interval(secs => v_topic.idempotency_seconds)
    )
    on conflict (topic_id, idempotency_key) do update
    set fingerprint = excluded.fingerprint, partitions = excluded.partitions,
        offsets = excluded.offsets, expires_at = excluded.expires_at;
  end if;
end
$$;
