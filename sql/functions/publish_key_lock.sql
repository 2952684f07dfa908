/*
 * The lock of an idempotency key: who publishes under it, or looks whether somebody has, holds it.
 *
 * Versions run beside each other while they are replaced, so its value stays as it is.
 */
create or replace function gapless.publish_key_lock(p_topic_id integer, p_idempotency_key text)
returns bigint
language sql
immutable
as $$
  select gapless.lock_key(1, 0, hashtextextended(p_topic_id::text || ':' || p_idempotency_key, 0) & 281474976710655)
$$;
