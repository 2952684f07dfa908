/*
 * Names the bucket of a (topic, partition), on which a reader sleeps (fall_asleep): an advisory lock, and the
 * one 512 further.
 *
 * 512 buckets bound what thousands of idle topics take from the lock table; two logs that share a
 * bucket cost each other a needless notification, never a lost one. The types are cast as in partition_of.
 */
create or replace function gapless.sleep_key(p_topic_id integer, p_partition integer)
returns bigint
language sql
immutable
parallel safe
as $$ select gapless.lock_key(4, 0, (p_topic_id::bigint * 61 + p_partition) % 512::bigint) $$;
