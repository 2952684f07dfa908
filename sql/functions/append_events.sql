/*
 * gapless.insert_events for every isolation level and session; same parameters, same answer.
 *
 * A session may miss a partition that is there (functions/forget_partitions.sql). Its insert finds
 * no place for the row, a check violation, and is made again once the session has looked anew.
 *
 * In READ COMMITTED each statement after the lock sees what was committed before it. A caller in
 * REPEATABLE READ or SERIALIZABLE may hold an older snapshot and compute offsets that are taken:
 * the primary key then refuses them, and the caller is told to retry (40001). So is one whose
 * snapshot shows a topic that was dropped meanwhile. Never a gap.
 */
create or replace function gapless.append_events(
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
  v_inserted record;
begin
  begin
    v_inserted := gapless.insert_events(
      p_topic_id, p_partitions, p_data, p_data_bytes, p_keys, p_types, p_ids, p_sources, p_subjects, p_times,
      p_headers, p_datacontenttypes, p_transaction_ids, p_expected_offset
    );
    offsets := v_inserted.offsets;
    published_at := v_inserted.published_at;
    return;
  exception
    when check_violation then
      perform gapless.forget_partitions(p_topic_id);
    when unique_violation or duplicate_table or undefined_table then
      if current_setting('transaction_isolation') = 'read committed' then
        raise;
      end if;
  end;
  if current_setting('transaction_isolation') = 'read committed' then
    v_inserted := gapless.insert_events(
      p_topic_id, p_partitions, p_data, p_data_bytes, p_keys, p_types, p_ids, p_sources, p_subjects, p_times,
      p_headers, p_datacontenttypes, p_transaction_ids, p_expected_offset
    );
    offsets := v_inserted.offsets;
    published_at := v_inserted.published_at;
    return;
  end if;
  raise exception using
    errcode = '40001',
    message = 'the log has grown since this transaction took its snapshot',
    hint = 'Retry the transaction, or publish in READ COMMITTED.';
end
$$;
