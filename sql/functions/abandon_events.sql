/*
 * Gives up what a group leases and retries in one partition at or below p_up_to, and returns the state,
 * which the caller appends. What was not acked counts as skipped.
 *
 * A lease that holds any of it is fenced; the rest of it waits for another delivery, and this one does
 * not count. Dead letters that were on their way again get p_status and count as dead. The caller
 * holds the lock of the partition.
 */
create or replace function gapless.abandon_events(
  p_subscription gapless.subscription,
  p_state gapless.consumer_offset,
  p_up_to bigint,
  p_status text
)
returns gapless.consumer_offset
language plpgsql
set enable_seqscan = off
as $$
declare
  v_lease_id bigint;
  v_given_up bigint;
  v_dead bigint;
begin
  foreach v_lease_id in array p_state.leases loop
    perform from gapless.lease l
    where l.subscription_id = p_state.subscription_id and l.partition_id = p_state.partition_id
      and l.lease_id = v_lease_id and lower(l.items) <= p_up_to;
    continue when not found;
    p_state := gapless.end_lease(p_subscription, p_state, v_lease_id, 'released');
    update gapless.lease l
    set outcome = 'fenced'
    where l.subscription_id = p_state.subscription_id and l.partition_id = p_state.partition_id
      and l.lease_id = v_lease_id;
  end loop;
  with given_up as (
    select r.from_offset, r.to_offset, r.redriven
    from gapless.retry_event r
    where r.subscription_id = p_state.subscription_id and r.partition_id = p_state.partition_id
      and r.from_offset <= p_up_to
  ), removed as (
    delete from gapless.retry_event r
    using given_up g
    where r.subscription_id = p_state.subscription_id and r.partition_id = p_state.partition_id
      and r.from_offset = g.from_offset and g.to_offset <= p_up_to
  ), shortened as (
    update gapless.retry_event r
    set from_offset = p_up_to + 1, size = null
    from given_up g
    where r.subscription_id = p_state.subscription_id and r.partition_id = p_state.partition_id
      and r.from_offset = g.from_offset and g.to_offset > p_up_to
  ), dead as (
    update gapless.dead_letter d
    set status = p_status, updated_at = gapless.clock()
    from given_up g
    where d.subscription_id = p_state.subscription_id and d.partition_id = p_state.partition_id
      and d.status = 'redriven' and g.redriven
      and d.log_offset between g.from_offset and least(g.to_offset, p_up_to)
    returning d.log_offset
  )
  select
    (select coalesce(sum(least(g.to_offset, p_up_to) - g.from_offset + 1), 0) from given_up g),
    (select count(*) from dead)
  into v_given_up, v_dead;
  p_state.retrying := p_state.retrying - v_given_up;
  p_state.dead := p_state.dead + v_dead;
  p_state.skipped := p_state.skipped + v_given_up - v_dead;
  return p_state;
end
$$;
