/*
 * Raises GP011 for a subscription that is DEAD or CANCELLED.
 */
create or replace function gapless.refuse_dead_or_cancelled(p_subscription gapless.subscription)
returns void
language plpgsql
immutable
as $$
begin
  if p_subscription.status in ('DEAD', 'CANCELLED') then
    raise exception using
      errcode = 'GP011',
      message = format('group "%s" is %s', p_subscription.name, p_subscription.status),
      detail = json_build_object('status', p_subscription.status, 'reason', p_subscription.reason)::text;
  end if;
end
$$;
