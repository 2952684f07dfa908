/*
 * Stores events of whole transactions as dead letters, with what the log holds of them.
 *
 * There is one dead letter per group and event: one that was redriven and fails again is dead again.
 */
create or replace function gapless.bury(
  p_subscription gapless.subscription,
  p_partition integer,
  p_items int8multirange,
  p_attempts integer,
  p_reason text,
  p_errors jsonb
)
returns void
language plpgsql
set enable_seqscan = off
as $$
declare
  v_now timestamptz := gapless.clock();
begin
  insert into gapless.dead_letter as d (
    subscription_id, partition_id, log_offset, from_offset, to_offset, status, attempts, reason, errors, dead_at, updated_at,
    topic_id, published_at, size, id, source, type, subject, event_time, key, headers, datacontenttype, transaction_id,
    data, data_bytes
  )
  select
    p_subscription.subscription_id, p_partition, o.log_offset, u.from_offset, u.to_offset, 'dead', p_attempts, p_reason,
    p_errors, v_now, v_now,
    p_subscription.topic_id, e.published_at, e.size, e.id, e.source, e.type, e.subject, e.event_time, e.key, e.headers,
    e.datacontenttype, e.transaction_id, e.data, e.data_bytes
  from gapless.units(p_subscription.topic_id, p_partition, p_items) u
  cross join lateral generate_series(u.from_offset, u.to_offset) as o(log_offset)
  left join (
    select l.*
    from gapless.spans(p_items) s
    cross join lateral gapless.read_range(
      p_subscription.topic_id, p_partition, s.from_offset, (s.to_offset - s.from_offset + 1)::integer,
      9223372036854775807
    ) l
  ) e on e.log_offset = o.log_offset
  order by o.log_offset
  on conflict (subscription_id, partition_id, log_offset) do update
  set status = 'dead', attempts = excluded.attempts, reason = excluded.reason, errors = excluded.errors,
      dead_at = excluded.dead_at, updated_at = excluded.updated_at;
end
$$;
