/*
 * Creates the next segments of a log until one holds p_offset. Nothing to do is the usual case.
 *
 * A segment is made as a table of its own and then attached: ATTACH PARTITION lets publishers and
 * readers of the topic go on, which CREATE TABLE … PARTITION OF would not. The caller holds the
 * locks of all partitions that it will write, so that nobody waits for a log while holding this one. A transaction
 * that publishes to several partitions by several calls does not, and may meet 40P01: one call, or
 * gapless.publish_at_commit, locks all of them first.
 */
create or replace function gapless.create_segments(p_topic_id integer, p_partition integer, p_offset bigint)
returns integer
language plpgsql
as $$
declare
  v_from bigint;
  v_to bigint;
  v_size bigint;
  v_table text;
  v_created integer := 0;
begin
  perform pg_advisory_xact_lock(gapless.lock_key(3, p_topic_id, 0));
  select t.segment_events into v_size from gapless.topic t where t.topic_id = p_topic_id;
  select max(s.to_offset) into v_to
  from gapless.segment s
  where s.topic_id = p_topic_id and s.partition_id = p_partition;
  while coalesce(v_to, 0) < p_offset loop
    v_from := coalesce(v_to, 0) + 1;
    v_to := v_from + v_size - 1;
    v_table := format('event_%s_%s_%s', p_topic_id, p_partition, v_from);
    execute format('create table gapless.%I (like gapless.event including constraints)', v_table);
    execute format(
      'alter table gapless.event_%s attach partition gapless.%I for values from (%s, %s) to (%s, %s)',
      p_topic_id, v_table, p_partition, v_from, p_partition, v_to + 1
    );
    insert into gapless.segment (topic_id, partition_id, from_offset, to_offset, created_at)
    values (p_topic_id, p_partition, v_from, v_to, gapless.clock());
    if v_from = 1 or current_setting('transaction_isolation') <> 'read committed' then
      -- A snapshot from before a segment was made does not show it, and where it was dropped since, it is in nobody's
      -- way; what was dropped was trimmed first, so this row is: 40001.
      insert into gapless.log_start as l (topic_id, partition_id, earliest)
      values (p_topic_id, p_partition, 1)
      on conflict (topic_id, partition_id) do update set earliest = l.earliest;
    end if;
    v_created := v_created + 1;
  end loop;
  return v_created;
end
$$;
