/*
 * Runs at COMMIT for a transaction that used gapless.publish_at_commit: gives its events their offsets.
 *
 * Every log of the transaction is locked before the first is written, in (topic, partition) order,
 * so transactions over the same topics never wait for each other in a circle. Raises GP008 when a
 * transaction id is split or has more than 10,000 events.
 */
create or replace function gapless.sequence_staged()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_batch record;
  v_split text;
begin
  select t.transaction_id into v_split
  from (
    select
      e.topic_id, e.partition_id, e.transaction_id,
      row_number() over (partition by e.topic_id, e.partition_id order by e.seq) as place
    from gapless.staged_event e
    where e.xid = new.xid
  ) t
  where t.transaction_id is not null
  group by t.topic_id, t.transaction_id
  having count(*) > 10000 or count(distinct t.partition_id) > 1 or max(t.place) - min(t.place) + 1 <> count(*)
  limit 1;
  if v_split is not null then
    perform gapless.refuse_split(v_split);
  end if;
  for v_batch in
    select e.topic_id, array_agg(distinct e.partition_id order by e.partition_id) as logs
    from gapless.staged_event e
    where e.xid = new.xid
    group by e.topic_id
    order by e.topic_id
  loop
    perform gapless.lock_partitions(v_batch.topic_id, v_batch.logs);
  end loop;
  for v_batch in
    select
      e.topic_id,
      array_agg(e.partition_id order by e.seq) as partitions,
      array_agg(e.data order by e.seq) as data,
      array_agg(e.data_bytes order by e.seq) as data_bytes,
      array_agg(e.key order by e.seq) as keys,
      array_agg(e.type order by e.seq) as types,
      array_agg(e.id order by e.seq) as ids,
      array_agg(e.source order by e.seq) as sources,
      array_agg(e.subject order by e.seq) as subjects,
      array_agg(e.event_time order by e.seq) as times,
      array_agg(e.headers order by e.seq) as headers,
      array_agg(e.datacontenttype order by e.seq) as datacontenttypes,
      case when count(e.transaction_id) > 0 then array_agg(e.transaction_id order by e.seq) end as transaction_ids
    from gapless.staged_event e
    where e.xid = new.xid
    group by e.topic_id
    order by e.topic_id
  loop
    perform gapless.append_events(
      v_batch.topic_id, v_batch.partitions, v_batch.data, v_batch.data_bytes, v_batch.keys, v_batch.types,
      v_batch.ids, v_batch.sources, v_batch.subjects, v_batch.times, v_batch.headers,
      v_batch.datacontenttypes, v_batch.transaction_ids, null
    );
  end loop;
  delete from gapless.staged_event e where e.xid = new.xid;
  delete from gapless.staged_transaction t where t.xid = new.xid;
  return null;
end
$$;
