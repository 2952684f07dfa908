/*
 * Tells whoever waits for a group to look again when this transaction commits.
 *
 * Called by all that can make events claimable, or changes a group's status, without publishing. A
 * hint: several in one transaction arrive as one, and a poll makes up for a lost one.
 */
create or replace function gapless.wake_group(p_subscription_id integer)
returns void
language plpgsql
as $$
begin
  perform pg_notify('gapless_group', p_subscription_id::text);
end
$$;
