/*
 * Deletes a subscription with its position, leases, retries and dead letters: nobody finds any of them once this
 * has committed, and the rows go later (gapless.drop_deleted_topics). Only the audit log keeps its name, which is
 * free again. Raises GP001, GP010, also for a second call, and GP011 for the subscription of a queue, which lives
 * as long as its topic.
 */
create or replace function gapless.delete_subscription(p_topic text, p_group text, p_actor text default null)
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found record := gapless.lock_subscription(p_topic, p_group);
  v_subscription gapless.subscription := v_found.subscription;
begin
  if (v_found.topic).semantics = 'queue' then
    raise exception using
      errcode = 'GP011',
      message = format('topic "%s" is a queue: its group lives as long as it does', p_topic),
      detail = '{"field":"semantics","current":"queue"}';
  end if;
  perform gapless.audit(
    p_actor, 'delete_subscription', p_topic, p_group, jsonb_build_object('status', v_subscription.status)
  );
  perform gapless.wake_group(v_subscription.subscription_id);
  perform gapless.remove_subscription(v_subscription.subscription_id);
end
$$;
