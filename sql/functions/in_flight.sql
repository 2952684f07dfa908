/*
 * How many events a group has in leases that have not expired, over all its partitions.
 */
create or replace function gapless.in_flight(p_subscription_id integer, p_partitions integer)
returns bigint
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return (
    select coalesce(sum(l.events), 0)
    from generate_series(0, p_partitions - 1) as p(partition_id)
    cross join lateral (
      select c.leases
      from gapless.consumer_offset c
      where c.subscription_id = p_subscription_id and c.partition_id = p.partition_id
      order by c.seq desc
      limit 1
    ) c
    cross join lateral gapless.find_leases(p_subscription_id, p.partition_id, c.leases) l
    where c.leases <> '{}' and l.expires_at > gapless.clock()
  );
end
$$;
