/*
 * Whether what fails of a lease with p_outcome becomes dead letters: rejected, or failed or expired after as
 * many deliveries as the group allows.
 */
create or replace function gapless.is_last_delivery(
  p_subscription gapless.subscription,
  p_lease gapless.lease,
  p_outcome text
)
returns boolean
language sql
immutable
as $$
  select p_outcome = 'rejected'
    or (p_outcome in ('failed', 'expired') and p_lease.attempt >= p_subscription.max_attempts)
$$;
