/*
 * Locks the logs of these partitions for the rest of the transaction, in their order, then checks
 * that the topic was not deleted meanwhile (GP001).
 *
 * A snapshot from before the lock shows a topic that was deleted since. There the topic's row is
 * locked too, which PostgreSQL refuses (40001) where the row was changed.
 */
create or replace function gapless.lock_partitions(p_topic_id integer, p_partitions integer[])
returns void
language plpgsql
as $$
declare
  v_partition integer;
begin
  foreach v_partition in array p_partitions loop
    perform pg_advisory_xact_lock(gapless.lock_key(2, p_topic_id, v_partition));
  end loop;
  if current_setting('transaction_isolation') = 'read committed' then
    perform from gapless.topic t where t.topic_id = p_topic_id and t.deleted_at is null;
  else
    perform from gapless.topic t where t.topic_id = p_topic_id and t.deleted_at is null for share;
  end if;
  if not found then
    raise exception using errcode = 'GP001', message = 'the topic was deleted';
  end if;
end
$$;
