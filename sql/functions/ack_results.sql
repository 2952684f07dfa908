/*
 * What an ack of p_asked means to a lease as it was before: runs of offsets, in order, one result each.
 * p_open is the result of what the lease still covers and nobody acked.
 */
create or replace function gapless.ack_results(p_lease gapless.lease, p_asked int8multirange, p_open text)
returns table (first_offset bigint, last_offset bigint, status text)
language sql
immutable
as $$
  select lower(r), upper(r) - 1, s.status
  from (
    values
      (p_open, p_asked * p_lease.items - p_lease.acked - p_lease.failed),
      ('already_acked', p_asked * p_lease.acked),
      ('failed', p_asked * p_lease.failed),
      ('not_leased', p_asked - p_lease.items - p_lease.failed)
  ) as s(status, offsets)
  cross join lateral unnest(s.offsets) as r
  order by 1
$$;
