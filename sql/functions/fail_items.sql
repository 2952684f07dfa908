/*
 * Takes whole transactions out of an open lease, to be delivered again or to the dead letters, and
 * returns the state of the partition, which the caller appends. The lease itself is the caller's to change.
 *
 * p_outcome: failed, expired, released (the delivery does not count), rejected (dead at once); p_due_at is when
 * they may be delivered again, by default at once. A failed or expired delivery that was the
 * last one allowed is dead as well. All items of a lease have had the same number of deliveries, so all
 * of them share one fate.
 */
create or replace function gapless.fail_items(
  p_subscription gapless.subscription,
  p_state gapless.consumer_offset,
  p_lease gapless.lease,
  p_items int8multirange,
  p_outcome text,
  p_due_at timestamptz,
  p_reason text
)
returns gapless.consumer_offset
language plpgsql
set enable_seqscan = off
as $$
declare
  v_now timestamptz := gapless.clock();
  v_dead boolean := gapless.is_last_delivery(p_subscription, p_lease, p_outcome);
  v_attempts integer := p_lease.attempt - case when p_outcome = 'released' then 1 else 0 end;
  v_error jsonb := '[]';
  v_count bigint := gapless.events_in(p_items);
  v_row record;
begin
  if v_count = 0 then
    return p_state;
  end if;
  if p_outcome <> 'released' then
    v_error := jsonb_build_array(jsonb_build_object(
      'attempt', p_lease.attempt, 'at', gapless.format_time(v_now), 'member', p_lease.member, 'outcome', p_outcome,
      'reason', p_reason
    ));
  end if;
  for v_row in select * from gapless.take_leased(p_subscription, p_lease, p_items) loop
    -- The last of them tell enough, however many attempts a group allows.
    v_row.errors := (
      select coalesce(jsonb_agg(e.error order by e.place), '[]')
      from (
        select t.error, t.place
        from jsonb_array_elements(v_row.errors || v_error) with ordinality as t(error, place)
        order by t.place desc
        limit 50
      ) e
    );
    if v_dead then
      perform gapless.bury(
        p_subscription, p_lease.partition_id, int8multirange(v_row.run), v_attempts,
        coalesce(p_reason, case p_outcome when 'rejected' then 'rejected' when 'expired' then 'lease expired' else 'failed' end),
        v_row.errors
      );
    else
      insert into gapless.retry_event (
        subscription_id, partition_id, from_offset, to_offset, attempts, due_at, keys, size, errors, redriven
      )
      values (
        p_lease.subscription_id, p_lease.partition_id, lower(v_row.run), upper(v_row.run) - 1, v_attempts, coalesce(p_due_at, v_now),
        v_row.keys, v_row.size, v_row.errors, v_row.redriven
      );
    end if;
  end loop;
  p_state.in_flight := p_state.in_flight - v_count;
  if v_dead then
    p_state.dead := p_state.dead + v_count;
  else
    p_state.retrying := p_state.retrying + v_count;
  end if;
  return p_state;
end
$$;
