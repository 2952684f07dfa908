/*
 * The lease that a token names, open or not; all null for a token that names none.
 *
 * Locks the lease's partition of its group first, so that what is read stays true, unless p_lock is false.
 */
create or replace function gapless.find_lease(p_lease text, p_lock boolean default true)
returns gapless.lease
language plpgsql
volatile
set enable_seqscan = off
as $$
declare
  v_parts text[];
  v_subscription_id integer;
  v_partition integer;
  v_lease gapless.lease;
begin
  if p_lease !~ '^v1\.[0-9]{1,9}\.[0-9]{1,3}\.[0-9]{1,18}\.[0-9a-f]{32}$' then
    return null;
  end if;
  v_parts := string_to_array(p_lease, '.');
  v_subscription_id := v_parts[2];
  v_partition := v_parts[3];
  if p_lock then
    perform pg_advisory_xact_lock(gapless.lock_key(8, v_subscription_id, v_partition));
  end if;
  select * into v_lease
  from gapless.lease l
  where l.subscription_id = v_subscription_id and l.partition_id = v_partition and l.lease_id = v_parts[4]::bigint;
  -- The leases of a deleted group go later than it does, and its topic may be deleted.
  if v_lease.secret is distinct from v_parts[5] or not exists (
    select
    from gapless.subscription s
    join gapless.topic t on t.topic_id = s.topic_id
    where s.subscription_id = v_subscription_id and t.deleted_at is null
  ) then
    return null;
  end if;
  return v_lease;
end
$$;
