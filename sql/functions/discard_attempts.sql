/*
 * Drops what attempts of a bulk load staged whose names begin with p_prefix, and returns how many chunks: those of one
 * of several that stage the same load. What they stage later stays until gapless.expire_loads takes it. Waits for a
 * load that is being published. Raises GP001.
 */
create or replace function gapless.discard_attempts(p_topic text, p_load text, p_prefix text)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_topic gapless.topic := gapless.find_topic(p_topic);
  v_discarded integer;
begin
  -- A load that is being published goes whole, and leaves nothing to discard.
  perform pg_advisory_xact_lock(gapless.load_key(v_topic.topic_id, p_load));
  delete from gapless.load_chunk c
  where c.topic_id = v_topic.topic_id and c.load_id = p_load and starts_with(c.attempt, p_prefix);
  get diagnostics v_discarded = row_count;
  return v_discarded;
end
$$;
