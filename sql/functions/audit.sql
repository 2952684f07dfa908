/*
 * Notes what an admin call changed, in its transaction. p_actor is who asked for it, by default the
 * session's user. Raises GP003.
 */
create or replace function gapless.audit(
  p_actor text,
  p_action text,
  p_topic text,
  p_subscription text,
  p_details jsonb
)
returns void
language plpgsql
as $$
begin
  if length(p_actor) not between 1 and 250 then
    raise exception using
      errcode = 'GP003', message = 'an actor is named by 1 to 250 characters', detail = '{"field":"actor"}';
  end if;
  insert into gapless.audit_log (at, actor, action, topic, subscription, details)
  values (
    gapless.clock(), coalesce(p_actor, session_user), p_action, p_topic, p_subscription, coalesce(p_details, '{}')
  );
end
$$;
