/*
 * Gives a batch its offsets and stores it: the only writer of gapless.event.
 *
 * The caller holds the locks of all logs in p_partitions. Reading the tip under that lock and
 * inserting after it keeps offsets gapless and in commit order; the lock lasts until the commit, so
 * a rollback leaves nothing behind. p_partitions[i] is the log of the i-th event; the answer holds
 * its offset at the same place; published_at is that of all of them. Raises GP006 when
 * p_expected_offset is not the tip, of which there is only one then.
 */
create or replace function gapless.insert_events(
  p_topic_id integer,
  p_partitions integer[],
  p_data json[],
  p_data_bytes bytea[],
  p_keys text[],
  p_types text[],
  p_ids text[],
  p_sources text[],
  p_subjects text[],
  p_times timestamptz[],
  p_headers json[],
  p_datacontenttypes text[],
  p_transaction_ids text[],
  p_expected_offset bigint,
  out offsets bigint[],
  out published_at timestamptz
)
language plpgsql
as $$
declare
  v_logs integer[];
  v_counts bigint[];
  v_tips bigint[] := '{}';
  v_next bigint[];
  v_wake integer[] := '{}';
  v_tip record;
  v_log integer;
begin
  published_at := gapless.clock();
  if p_partitions[1] = all (p_partitions) then
    v_logs := p_partitions[1:1];
    v_counts := array[cardinality(p_partitions)];
  else
    select array_agg(l.log order by l.log), array_agg(l.n order by l.log)
    into v_logs, v_counts
    from (select p.log, count(*) as n from unnest(p_partitions) as p(log) group by p.log) l;
  end if;

  for i in 1 .. cardinality(v_logs) loop
    select * into v_tip from gapless.log_tip(p_topic_id, v_logs[i]);
    if p_expected_offset <> v_tip.log_offset and current_setting('transaction_isolation') = 'read committed' then
      perform gapless.refuse_offset(v_logs[i], v_tip.log_offset, p_expected_offset);
    end if;
    v_tips := v_tips || v_tip.log_offset;
    -- Later than what is there, so that the same id in another call names another transaction.
    published_at := greatest(
      published_at, v_tip.published_at + case when p_transaction_ids is null then interval '0' else interval '1 microsecond' end
    );
    if v_tip.segment_end < v_tip.log_offset + v_counts[i] then
      perform gapless.create_segments(p_topic_id, v_logs[i], v_tip.log_offset + v_counts[i]);
      select t.segment_middle into v_tip.segment_middle from gapless.log_tip(p_topic_id, v_logs[i]) t;
    end if;
    if v_tip.segment_middle > v_tip.log_offset and v_tip.segment_middle <= v_tip.log_offset + v_counts[i] then
      insert into gapless.segment_due (topic_id, partition_id) values (p_topic_id, v_logs[i]) on conflict do nothing;
    end if;
  end loop;

  if cardinality(v_logs) = 1 then
    offsets := array(select generate_series(v_tips[1] + 1, v_tips[1] + v_counts[1]));
  else
    -- A loop takes less than half the time of a window over the batch, and everybody waits for it.
    offsets := array_fill(0::bigint, array[cardinality(p_partitions)]);
    v_next := array_fill(0::bigint, array[v_logs[cardinality(v_logs)] + 1]);
    for i in 1 .. cardinality(v_logs) loop
      v_next[v_logs[i] + 1] := v_tips[i];
    end loop;
    for i in 1 .. cardinality(p_partitions) loop
      v_next[p_partitions[i] + 1] := v_next[p_partitions[i] + 1] + 1;
      offsets[i] := v_next[p_partitions[i] + 1];
    end loop;
  end if;

  insert into gapless.event (
    topic_id, partition_id, log_offset, published_at, size, id, source, type, subject, event_time, key,
    headers, datacontenttype, transaction_id, data, data_bytes
  )
  select
    p_topic_id, e.partition_id, e.log_offset, insert_events.published_at, coalesce(octet_length(e.data::text), octet_length(e.data_bytes)),
    e.id, e.source, e.type, e.subject, e.event_time, e.key,
    e.headers, e.datacontenttype, e.transaction_id, e.data, e.data_bytes
  from (
    -- Side by side in the list, not in FROM: there all of it would be stored, and read back, before the insert.
    select
      unnest(p_partitions) as partition_id, unnest(insert_events.offsets) as log_offset, unnest(p_ids) as id,
      unnest(p_sources) as source, unnest(p_types) as type, unnest(p_subjects) as subject,
      unnest(p_times) as event_time, unnest(p_keys) as key, unnest(p_headers) as headers,
      unnest(p_datacontenttypes) as datacontenttype, unnest(p_transaction_ids) as transaction_id,
      unnest(p_data) as data, unnest(p_data_bytes) as data_bytes
  ) e;

  -- In other isolation levels only now: the insert was refused if that tip was one of an old snapshot.
  if p_expected_offset <> v_tips[1] then
    perform gapless.refuse_offset(v_logs[1], v_tips[1], p_expected_offset);
  end if;

  -- Readers see a commit that is not on disk, and after a crash its offsets would name other events.
  -- It lasts to the commit.
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;

  foreach v_log in array v_logs loop
    if gapless.anybody_asleep(p_topic_id, v_log) then
      v_wake := v_wake || v_log;
    end if;
  end loop;
  if v_wake <> '{}' then
    perform pg_notify(
      'gapless',
      p_topic_id || case when cardinality(v_wake) <= 16 then ':' || array_to_string(v_wake, ',') else '' end
    );
  end if;
end
$$;
