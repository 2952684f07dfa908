/*
 * The common part of gapless.nack and gapless.reject: fails these events of an open lease, by whole
 * transactions, or all that is not acked. Returns runs with one result each, in order. Raises GP003, GP012.
 */
create or replace function gapless.fail_lease(
  p_lease text,
  p_offsets bigint[],
  p_outcome text,
  p_delay_seconds double precision,
  p_reason text
)
returns table (first_offset bigint, last_offset bigint, status text, due_at timestamptz)
language plpgsql
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_lease gapless.lease := gapless.open_lease(p_lease);
  v_asked int8multirange := gapless.offsets_asked(p_offsets, null, v_lease);
  v_subscription gapless.subscription;
  v_state gapless.consumer_offset;
  v_failing int8multirange;
  v_due_at timestamptz;
  v_dead boolean;
begin
  perform gapless.check_reason(p_reason);
  if p_delay_seconds is not null and not p_delay_seconds between 0 and 86400 then
    raise exception using
      errcode = 'GP003', message = 'a delay is 0 to 86,400 seconds', detail = '{"field":"delay"}';
  end if;
  select * into v_subscription from gapless.subscription s where s.subscription_id = v_lease.subscription_id;
  v_dead := gapless.is_last_delivery(v_subscription, v_lease, p_outcome);
  v_failing := gapless.units_with(v_subscription.topic_id, v_lease, v_asked - v_lease.acked);
  if v_failing <> '{}' then
    v_due_at := gapless.clock()
      + coalesce(make_interval(secs => p_delay_seconds), gapless.backoff(v_subscription, v_lease.attempt));
    v_state := gapless.newest_position(v_lease.subscription_id, v_lease.partition_id);
    perform gapless.refuse_old_snapshot(v_state);
    v_state := gapless.shrink_lease(
      v_subscription, v_state, v_lease, v_failing, p_outcome, v_due_at, p_reason
    );
    perform gapless.append_position(v_state);
    perform gapless.wake_group(v_subscription.subscription_id);
  end if;
  return query
  select
    r.first_offset, r.last_offset, r.status,
    case when r.status = 'retrying' then v_due_at end
  from (
    select lower(f), upper(f) - 1, case when v_dead then 'dead_lettered' else 'retrying' end from unnest(v_failing) f
    union all
    select a.first_offset, a.last_offset, a.status
    from gapless.ack_results(v_lease, v_asked - v_failing, 'lease_lost') a
  ) as r(first_offset, last_offset, status)
  order by 1;
end
$$;
