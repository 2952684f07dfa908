/*
 * The lock of a bulk load: who publishes, discards or expires it holds it. It is that of the idempotency key under
 * which gapless.publish_load remembers it.
 */
create or replace function gapless.load_key(p_topic_id integer, p_load text)
returns bigint
language sql
immutable
as $$
  select gapless.publish_key_lock(p_topic_id, E'\tload' || p_load)
$$;
