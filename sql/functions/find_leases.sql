/*
 * The leases of a partition that a position names, in their order; one that is not there is left out.
 *
 * Each is fetched by its whole key. Asked for together, a planner that takes the leases for few, as where there are
 * no statistics or a sweep has just removed them, reads all of the partition, dead ones too, and then looks which are
 * named: in a join, and up to PostgreSQL 16 for any `= any`.
 */
create or replace function gapless.find_leases(p_subscription_id integer, p_partition integer, p_leases bigint[])
returns setof gapless.lease
language plpgsql
stable
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_lease_id bigint;
begin
  foreach v_lease_id in array coalesce(p_leases, '{}') loop
    return query
    select l.*
    from gapless.lease l
    where l.subscription_id = p_subscription_id and l.partition_id = p_partition and l.lease_id = v_lease_id;
  end loop;
end
$$;
