/*
 * From when on a lease is over, null while it is open. One of an at_most_once group ends as it is given, and is
 * read until it would have expired.
 */
create or replace function gapless.lease_end(p_lease gapless.lease)
returns timestamptz
language sql
immutable
as $$
  select case
    when p_lease.ended_at = p_lease.claimed_at then greatest(p_lease.ended_at, p_lease.expires_at)
    else p_lease.ended_at
  end
$$;
