/*
 * Publishes one event together with the caller's transaction: it gets its offset at COMMIT.
 *
 * The log is locked only for the instant of the commit, however long the transaction was open, so
 * business transactions never hold up other publishers. Events of one transaction keep their order;
 * a rollback, also to a savepoint, takes them with it. The partition is the one asked for, or that of
 * the key, of p_transaction_id, or of the database transaction. Refusals that need the whole
 * transaction or the log (GP008 for a p_transaction_id that is split, GP001 for a topic deleted
 * meanwhile, 40001 in REPEATABLE READ) come at COMMIT; all others (GP001, GP003, GP004) at once, and 55000 where
 * session_replication_role is replica: nothing would happen at COMMIT there.
 *
 * PostgreSQL ends statement_timeout before the COMMIT waits for the log; lock_timeout bounds that. `set constraints all
 * immediate` gives the events before it their offsets at once, apart from later ones of the same
 * p_transaction_id: name the constraints, without gapless.sequence_at_commit.
 * Two-phase commit holds the logs until COMMIT PREPARED, and PostgreSQL refuses to prepare a
 * transaction that has to wake a reader.
 */
create or replace function gapless.publish_at_commit(
  p_topic text,
  p_data json default null,
  p_key text default null,
  p_type text default null,
  p_id text default null,
  p_source text default null,
  p_subject text default null,
  p_time timestamptz default null,
  p_headers json default null,
  p_datacontenttype text default null,
  p_transaction_id text default null,
  p_data_bytes bytea default null,
  p_partition integer default null
)
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_topic gapless.topic;
begin
  if current_setting('session_replication_role') = 'replica' then
    raise exception using
      errcode = '55000',
      message = 'nothing is published at commit while session_replication_role is replica',
      hint = 'Publish with gapless.publish, or in a session with another session_replication_role.';
  end if;
  if p_partition is null then
    v_topic := gapless.find_topic(p_topic);
  else
    v_topic := gapless.find_partition(p_topic, p_partition);
  end if;
  if num_nonnulls(p_data, p_data_bytes) <> 1 then
    raise exception using
      errcode = 'GP003', message = 'an event has either data or data_bytes', detail = '{"field":"data"}';
  end if;
  if p_time is not null then
    perform gapless.check_times(array[p_time]);
  end if;
  insert into gapless.staged_event (
    xid, topic_id, partition_id, id, source, type, subject, event_time, key, headers, datacontenttype,
    transaction_id, data, data_bytes
  )
  values (
    pg_current_xact_id(),
    v_topic.topic_id,
    case
      when p_partition is not null then p_partition
      -- Without a key, the events of one transaction keep their order by sharing a partition.
      else gapless.partition_of(
        coalesce(p_key, p_transaction_id, pg_current_xact_id()::text), v_topic.partitions
      )
    end,
    p_id, p_source, p_type, p_subject, p_time, p_key, p_headers, p_datacontenttype,
    p_transaction_id, p_data, p_data_bytes
  );
  insert into gapless.staged_transaction (xid) values (pg_current_xact_id()) on conflict do nothing;
end
$$;
