/*
 * How long a failed event waits after its p_attempt-th delivery: doubled each time up to the
 * group's bound, then between half and all of that, so that what failed together does not return together.
 */
create or replace function gapless.backoff(p_subscription gapless.subscription, p_attempt integer)
returns interval
language sql
volatile
as $$
  select make_interval(
    secs => least(p_subscription.max_backoff_seconds, p_subscription.backoff_seconds * 2 ^ least(p_attempt - 1, 30))
      * (0.5 + random() / 2)
  )
$$;
