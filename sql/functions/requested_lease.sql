/*
 * The open lease that this member got for this request; all null when there is none.
 */
create or replace function gapless.requested_lease(
  p_subscription_id integer,
  p_partitions integer,
  p_member text,
  p_request_id text,
  out lease text,
  out partition_id integer,
  out items int8multirange,
  out attempt integer,
  out expires_at timestamptz
)
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
begin
  select
    format('v1.%s.%s.%s.%s', l.subscription_id, l.partition_id, l.lease_id, l.secret), l.partition_id, l.items,
    l.attempt, l.expires_at
  into lease, partition_id, items, attempt, expires_at
  from generate_series(0, p_partitions - 1) as p(partition_id)
  cross join lateral (
    select c.leases
    from gapless.consumer_offset c
    where c.subscription_id = p_subscription_id and c.partition_id = p.partition_id
    order by c.seq desc
    limit 1
  ) c
  cross join lateral gapless.find_leases(p_subscription_id, p.partition_id, c.leases) l
  where c.leases <> '{}' and l.member = p_member and l.request_id = p_request_id and l.expires_at > gapless.clock()
  limit 1;
end
$$;
