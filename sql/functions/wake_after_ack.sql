/*
 * Wakes those who wait for a lease of this group to end, if anybody sleeps on its partition.
 *
 * Publishers wake those who wait for events; an ack matters only to those who wait for what it frees.
 */
create or replace function gapless.wake_after_ack(p_subscription gapless.subscription, p_partition integer)
returns void
language plpgsql
as $$
begin
  if gapless.anybody_asleep(p_subscription.topic_id, p_partition) then
    perform gapless.wake_group(p_subscription.subscription_id);
  end if;
end
$$;
