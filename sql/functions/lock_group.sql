/*
 * Locks these partitions of a group for the rest of the transaction, in ascending order. Whoever
 * changes what a group is at in a partition holds its lock, and reads only after it was granted.
 */
create or replace function gapless.lock_group(p_subscription_id integer, p_partitions integer[])
returns void
language plpgsql
as $$
declare
  v_partition integer;
begin
  for v_partition in select distinct p from unnest(p_partitions) p order by p loop
    perform pg_advisory_xact_lock(gapless.lock_key(8, p_subscription_id, v_partition));
  end loop;
end
$$;
