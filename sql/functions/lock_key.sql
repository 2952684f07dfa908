/*
 * The advisory lock named by (kind, topic, number), in a range of the 64-bit space of our own (top byte 0x47).
 *
 * Kinds, up to 7 in the order in which one transaction may take them:
 *   1 an idempotency key (number: 48 bits of its hash)   2 the log of a (topic, partition)
 *   3 the segments of a topic (DDL)                      4 a sleep bucket, only ever tried
 *   5 maintenance, only ever tried                       6 topic names (create, delete)
 *   7 the retention of a topic, and what it must see     8 a partition of a group (subscription for topic)
 *   9 the limit in flight of a group                    10 a claim's request id (subscription for topic)
 * Of a group's, in the order 10, 7, 8, 9. Nobody takes 1 to 3 after one of them, and who holds a 9 only tries 8.
 */
create or replace function gapless.lock_key(p_kind integer, p_topic_id integer, p_number bigint)
returns bigint
language sql
immutable
parallel safe
as $$ select (71::bigint << 56) | (p_kind::bigint << 48) | (p_topic_id::bigint << 16) | p_number $$;
