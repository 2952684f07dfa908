/*
 * When a group was last heard of, to about a third of its heartbeat_seconds; null for never. Raises GP001, GP010.
 */
create or replace function gapless.last_heartbeat(p_topic text, p_group text)
returns timestamptz
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_found record := gapless.find_subscription(p_topic, p_group);
begin
  return (
    select h.beat_at from gapless.heartbeat h where h.subscription_id = (v_found.subscription).subscription_id
  );
end
$$;
