/*
 * The open leases of a group, the oldest first: who holds what, and until when; at most p_limit (1 to 10,000), only of
 * p_partition where that is given. Tells no token: whoever lists leases does not hold them. A lease that expired is
 * listed until a claim or the upkeep ends it. Raises GP001, GP003, GP010.
 */
create or replace function gapless.list_leases(
  p_topic text,
  p_group text,
  p_partition integer default null,
  p_limit integer default 100
)
returns table (
  partition_id integer,
  lease_id bigint,
  member text,
  items int8multirange,
  events bigint,
  attempt integer,
  claimed_at timestamptz,
  expires_at timestamptz
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_found record;
begin
  select f.topic, f.subscription into v_found from gapless.find_subscription(p_topic, p_group) f;
  if p_limit is null or p_limit not between 1 and 10000 then
    raise exception using errcode = 'GP003', message = 'limit must be 1 to 10,000', detail = '{"field":"limit"}';
  end if;
  return query
  select l.partition_id, l.lease_id, l.member, l.items, l.events, l.attempt, l.claimed_at, l.expires_at
  from generate_series(0, (v_found.topic).partitions - 1) as p(partition_id)
  cross join lateral (
    select c.leases
    from gapless.consumer_offset c
    where c.subscription_id = (v_found.subscription).subscription_id and c.partition_id = p.partition_id
    order by c.seq desc
    limit 1
  ) c
  cross join lateral gapless.find_leases((v_found.subscription).subscription_id, p.partition_id, c.leases) l
  where p_partition is null or p.partition_id = p_partition
  order by l.claimed_at, l.partition_id, l.lease_id
  limit p_limit;
end
$$;
