/*
 * Gives dead letters back to their group, with as many deliveries as a new event has, and returns how many
 * events. In ordered groups they come before what is after them in the log.
 *
 * p_dead_letter_ids, or else all that p_type (which may end in *), p_key and p_reason fit; whole transactions,
 * until p_limit events are reached, in the order of partition and offset. What was redriven or discarded before is left
 * alone. Audited. Raises GP001, GP003, GP010, GP013, and GP014 for a cancelled group.
 */
create or replace function gapless.redrive(
  p_topic text,
  p_group text,
  p_dead_letter_ids bigint[] default null,
  p_type text default null,
  p_key text default null,
  p_reason text default null,
  p_limit integer default 1000,
  p_actor text default null
)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_subscription gapless.subscription;
  v_chosen record;
  v_state gapless.consumer_offset;
  v_now timestamptz := gapless.clock();
  v_total bigint := 0;
begin
  v_subscription := (gapless.lock_subscription(p_topic, p_group)).subscription;
  perform gapless.refuse_cancelled(v_subscription, 'GP014');
  for v_chosen in
    select *
    from gapless.choose_dead_letters(
      v_subscription, p_dead_letter_ids, p_type, p_key, p_reason, p_limit
    )
  loop
    if v_state.partition_id is distinct from v_chosen.partition_id then
      if v_state.partition_id is not null then
        perform gapless.append_position(v_state);
      end if;
      v_state := gapless.newest_position(v_subscription.subscription_id, v_chosen.partition_id);
      perform gapless.refuse_old_snapshot(v_state);
    end if;
    insert into gapless.retry_event (
      subscription_id, partition_id, from_offset, to_offset, attempts, due_at, keys, size, errors, redriven
    )
    values (
      v_subscription.subscription_id, v_chosen.partition_id, v_chosen.from_offset, v_chosen.to_offset, 0, v_now,
      case when v_subscription.ordering = 'key' then v_chosen.keys end, v_chosen.size, v_chosen.errors, true
    );
    update gapless.dead_letter d
    set status = 'redriven', updated_at = v_now
    where d.subscription_id = v_subscription.subscription_id and d.partition_id = v_chosen.partition_id
      and d.log_offset between v_chosen.from_offset and v_chosen.to_offset and d.status = 'dead';
    v_state.dead := v_state.dead - v_chosen.events;
    v_state.retrying := v_state.retrying + v_chosen.events;
    v_total := v_total + v_chosen.events;
  end loop;
  if v_total > 0 then
    perform gapless.append_position(v_state);
    perform gapless.audit(
      p_actor, 'redrive', p_topic, p_group,
      jsonb_build_object('events', v_total, 'ids', p_dead_letter_ids, 'type', p_type, 'key', p_key, 'reason', p_reason)
    );
    perform gapless.wake_group(v_subscription.subscription_id);
  end if;
  return v_total;
end
$$;
