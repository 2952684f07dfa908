/*
 * Removes a subscription: nobody finds it or anything of it from then on. Its rows, any number of them, are left
 * to gapless.drop_deleted_topics. The caller holds the row of the subscription.
 *
 * Taken in this order, nothing here waits for who waits for this: a claim beats before it locks its
 * partition.
 */
create or replace function gapless.remove_subscription(p_subscription_id integer)
returns void
language plpgsql
as $$
declare
  v_partition integer;
  v_state gapless.consumer_offset;
  v_partitions integer[] := array(
    select generate_series(0, t.partitions - 1)
    from gapless.subscription s
    join gapless.topic t on t.topic_id = s.topic_id
    where s.subscription_id = p_subscription_id
  );
begin
  perform from gapless.heartbeat h where h.subscription_id = p_subscription_id for update;
  perform gapless.lock_group(p_subscription_id, v_partitions);
  foreach v_partition in array v_partitions loop
    -- Whoever has an older snapshot sees the group still, and is refused where it would move on.
    v_state := gapless.newest_position(p_subscription_id, v_partition);
    if v_state.seq is not null then
      perform gapless.append_position(v_state);
    end if;
  end loop;
  insert into gapless.deleted_subscription (subscription_id, deleted_at)
  values (p_subscription_id, gapless.clock());
  delete from gapless.swept w where w.subscription_id = p_subscription_id;
  delete from gapless.subscription s where s.subscription_id = p_subscription_id;
end
$$;
