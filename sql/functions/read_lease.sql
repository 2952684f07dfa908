/*
 * The events that an open lease still covers, or one of an at_most_once group until it would expire, in order:
 * from the log, also what retention has let go but not dropped, or where that no longer has
 * them from the dead letter that they were redriven from.
 *
 * All of them or none: raises GP012 for an open lease of which events are gone as well, as whoever acks
 * the whole of it would have them counted as handled. Release it: the next claim tells what was skipped.
 */
create or replace function gapless.read_lease(p_lease text)
returns setof gapless.event
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  v_lease gapless.lease := gapless.find_lease(p_lease);
  v_subscription gapless.subscription;
  v_topic_id integer;
  v_found bigint;
begin
  select * into v_subscription
  from gapless.subscription s
  where s.subscription_id = v_lease.subscription_id;
  -- An at_most_once lease is over when it is given; its events are to be had until it would have expired.
  if v_lease.lease_id is null or v_lease.expires_at <= gapless.clock() or (
    v_lease.ended_at is not null
    and not (v_subscription.delivery = 'at_most_once' and v_lease.outcome = 'acked')
  ) then
    v_lease := gapless.open_lease(p_lease);
  end if;
  v_topic_id := v_subscription.topic_id;
  return query
  with found as (
    select e.*
    from gapless.spans(v_lease.items) s
    cross join lateral gapless.read_range(
      v_topic_id, v_lease.partition_id, s.from_offset, (s.to_offset - s.from_offset + 1)::integer,
      9223372036854775807
    ) e
    where v_lease.items @> e.log_offset
  )
  select * from found
  union all
  select
    d.topic_id, d.partition_id, d.log_offset, d.published_at, d.size, d.id, d.source, d.type, d.subject, d.event_time,
    d.key, d.headers, d.datacontenttype, d.transaction_id, d.data, d.data_bytes
  from gapless.dead_letter d
  where v_lease.retries and d.subscription_id = v_lease.subscription_id and d.partition_id = v_lease.partition_id
    and d.log_offset between lower(v_lease.items) and upper(v_lease.items) - 1 and v_lease.items @> d.log_offset and d.status = 'redriven'
    and not exists (select from found f where f.log_offset = d.log_offset)
  order by 3;
  get diagnostics v_found = row_count;
  if v_lease.ended_at is null and v_found < gapless.events_in(v_lease.items) then
    raise exception using errcode = 'GP012', message = 'retention took events of the lease';
  end if;
end
$$;
