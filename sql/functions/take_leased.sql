/*
 * Takes whole transactions out of what a lease has from gapless.retry_event and returns them as runs
 * with their history; those of a first delivery have no rows and no history.
 *
 * In key ordering a run is one transaction, as each waits for keys of its own.
 */
create or replace function gapless.take_leased(
  p_subscription gapless.subscription,
  p_lease gapless.lease,
  p_items int8multirange
)
returns table (run int8range, keys text[], size bigint, errors jsonb, redriven boolean)
language plpgsql
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_row gapless.retry_event;
  v_all int8multirange;
begin
  if not p_lease.retries then
    if p_subscription.ordering = 'key' then
      return query
      select int8range(u.from_offset, u.to_offset + 1), u.keys, u.size, '[]'::jsonb, false
      from gapless.units(p_subscription.topic_id, p_lease.partition_id, p_items) u;
    else
      return query select r, null::text[], null::bigint, '[]'::jsonb, false from unnest(p_items) r;
    end if;
    return;
  end if;
  for v_row in
    delete from gapless.retry_event r
    where r.subscription_id = p_lease.subscription_id and r.partition_id = p_lease.partition_id
      and r.from_offset between lower(p_lease.items) and upper(p_items) - 1
      and r.lease_id = p_lease.lease_id
      and p_items && int8range(r.from_offset, r.to_offset + 1)
    returning *
  loop
    v_all := int8multirange(int8range(v_row.from_offset, v_row.to_offset + 1));
    insert into gapless.retry_event (
      subscription_id, partition_id, from_offset, to_offset, attempts, due_at, keys, errors, redriven, lease_id
    )
    select
      v_row.subscription_id, v_row.partition_id, lower(r), upper(r) - 1, v_row.attempts, v_row.due_at, v_row.keys,
      v_row.errors, v_row.redriven, v_row.lease_id
    from unnest(v_all - p_items) r;
    return query
    select r, v_row.keys, case when v_all <@ p_items then v_row.size end, v_row.errors, v_row.redriven
    from unnest(v_all * p_items) r;
  end loop;
end
$$;
