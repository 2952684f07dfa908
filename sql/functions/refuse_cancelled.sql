/*
 * Raises p_errcode for a cancelled subscription: GP014 where it would get or do work, GP011 where it would be changed.
 */
create or replace function gapless.refuse_cancelled(p_subscription gapless.subscription, p_errcode text)
returns void
language plpgsql
immutable
as $$
begin
  if p_subscription.status = 'CANCELLED' then
    raise exception using
      errcode = p_errcode,
      message = format('group "%s" was cancelled', p_subscription.name),
      detail = json_build_object('status', p_subscription.status, 'reason', p_subscription.reason)::text;
  end if;
end
$$;
