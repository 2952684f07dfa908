/*
 * The whole transactions that a lease covers, in order. One that was redriven is a run of its own in
 * gapless.retry_event, and is taken from there: the log may have dropped its events.
 */
create or replace function gapless.lease_units(p_topic_id integer, p_lease gapless.lease)
returns table (from_offset bigint, to_offset bigint)
language plpgsql
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_redriven int8multirange := '{}';
begin
  if p_lease.retries then
    v_redriven := (
      select coalesce(range_agg(int8range(r.from_offset, r.to_offset + 1)), '{}')
      from gapless.retry_event r
      where r.subscription_id = p_lease.subscription_id and r.partition_id = p_lease.partition_id
        and r.from_offset between lower(p_lease.items) and upper(p_lease.items) - 1
        and r.lease_id = p_lease.lease_id and r.redriven
    );
  end if;
  return query
  select u.from_offset, u.to_offset
  from gapless.units(p_topic_id, p_lease.partition_id, p_lease.items - v_redriven) u
  union all
  select r.from_offset, r.to_offset
  from gapless.retry_event r
  where v_redriven <> '{}'
    and r.subscription_id = p_lease.subscription_id and r.partition_id = p_lease.partition_id
    and r.from_offset between lower(p_lease.items) and upper(p_lease.items) - 1
    and r.lease_id = p_lease.lease_id and r.redriven
  order by 1;
end
$$;
