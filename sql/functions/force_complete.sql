/*
 * Declares every event of a partition at or below p_up_to done for a group, and returns how many were
 * not. What waited, was leased or retried there counts as skipped; a lease that holds any of it is
 * fenced, and the rest of it is delivered again. Where a dead letter blocks, those at or below p_up_to
 * are discarded. An offset inside a transaction leaves the rest of it to be delivered.
 *
 * Raises GP001, GP003, GP004, GP010, and GP011 for a cancelled group. A second call completes nothing more.
 */
create or replace function gapless.force_complete(
  p_topic text,
  p_group text,
  p_partition integer,
  p_up_to bigint,
  p_actor text default null
)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  v_found record := gapless.lock_subscription(p_topic, p_group);
  v_topic gapless.topic := gapless.find_partition(p_topic, p_partition);
  v_subscription gapless.subscription := v_found.subscription;
  v_tip bigint := (select t.log_offset from gapless.log_tip(v_topic.topic_id, p_partition) t);
  v_old gapless.consumer_offset;
  v_new gapless.consumer_offset;
  v_completed bigint;
  v_discarded bigint := 0;
begin
  if p_up_to is null or p_up_to < 1 or p_up_to > v_tip then
    raise exception using
      errcode = 'GP003',
      message = format('up_to must be 1 to %s, the newest offset of partition %s', v_tip, p_partition),
      detail = json_build_object('field', 'up_to', 'tip', v_tip)::text;
  end if;
  perform gapless.refuse_cancelled(v_subscription, 'GP011');
  perform gapless.lock_group(v_subscription.subscription_id, array[p_partition]);
  v_old := gapless.newest_position(v_subscription.subscription_id, p_partition);
  v_new := gapless.abandon_events(v_subscription, v_old, p_up_to, 'discarded');
  v_new.skipped := v_new.skipped + greatest(p_up_to + 1 - v_new.position, 0);
  v_new.position := greatest(v_new.position, p_up_to + 1);
  v_completed := v_new.skipped - v_old.skipped + v_new.dead - v_old.dead;
  if v_subscription.on_dead_letter = 'block' then
    update gapless.dead_letter d
    set status = 'discarded', updated_at = gapless.clock()
    where d.subscription_id = v_subscription.subscription_id and d.partition_id = p_partition
      and d.log_offset <= p_up_to and d.status = 'dead';
    get diagnostics v_discarded = row_count;
  end if;
  if v_new is not distinct from v_old and v_discarded = 0 then
    return 0;
  end if;
  perform gapless.append_position(v_new);
  perform gapless.audit(
    p_actor, 'force_complete', p_topic, p_group,
    jsonb_build_object('partition', p_partition, 'up_to', p_up_to, 'completed', v_completed, 'discarded', v_discarded)
  );
  perform gapless.wake_group(v_subscription.subscription_id);
  return v_completed;
end
$$;
