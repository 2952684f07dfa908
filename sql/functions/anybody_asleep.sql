/*
 * Whether a publisher, as its last step, has to notify those who wait for a log.
 *
 * Whoever sleeps on the log holds both locks of its bucket, shared. One of them granted here means that
 * nobody sleeps, and that whoever is about to must wait for this commit and then sees it. The second
 * lock is for the publisher that meets another one at the first: a needless notification costs a
 * database-wide lock at the commit. A third at once notifies in vain.
 */
create or replace function gapless.anybody_asleep(p_topic_id integer, p_partition integer)
returns boolean
language plpgsql
as $$
declare
  v_key bigint := gapless.sleep_key(p_topic_id, p_partition);
begin
  return not pg_try_advisory_xact_lock(v_key) and not pg_try_advisory_xact_lock(v_key + 512);
end
$$;
