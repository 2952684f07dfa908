/*
 * Removes a subscription and everything of it. The caller holds the row of the subscription.
 *
 * Taken in this order, nothing here waits for who waits for this: a claim beats before it locks its
 * partition, and a dead letter refers to its subscription under that lock.
 */
create or replace function gapless.remove_subscription(p_subscription_id integer)
returns void
language plpgsql
as $$
begin
  perform from gapless.heartbeat h where h.subscription_id = p_subscription_id for update;
  perform gapless.lock_group(p_subscription_id, array(
    select generate_series(0, t.partitions - 1)
    from gapless.subscription s
    join gapless.topic t on t.topic_id = s.topic_id
    where s.subscription_id = p_subscription_id
  ));
  delete from gapless.consumer_offset c where c.subscription_id = p_subscription_id;
  delete from gapless.lease l where l.subscription_id = p_subscription_id;
  delete from gapless.retry_event r where r.subscription_id = p_subscription_id;
  delete from gapless.dead_letter d where d.subscription_id = p_subscription_id;
  delete from gapless.swept w where w.subscription_id = p_subscription_id;
  delete from gapless.subscription s where s.subscription_id = p_subscription_id;
end
$$;
