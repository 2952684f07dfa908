/*
 * Deletes a topic: its name is free and its events are unreadable when this commits; their tables
 * are dropped later by gapless.drop_deleted_topics. Noted in the audit log, by p_actor. Raises GP001, also
 * for a second call.
 *
 * Taking the lock of every partition lets publishes in flight finish first, so that an accepted
 * event is either before the deletion or refused.
 */
create or replace function gapless.delete_topic(p_topic text, p_actor text default null)
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_topic gapless.topic := gapless.find_topic(p_topic);
begin
  perform gapless.lock_partitions(v_topic.topic_id, array(select generate_series(0, v_topic.partitions - 1)));
  update gapless.topic t
  set deleted_at = gapless.clock()
  where t.topic_id = v_topic.topic_id and t.deleted_at is null;
  if not found then
    perform gapless.find_topic(p_topic);
  end if;
  perform gapless.audit(p_actor, 'delete_topic', p_topic, null, '{}');
  perform pg_notify('gapless', v_topic.topic_id::text);
  perform gapless.wake_group(s.subscription_id)
  from gapless.subscription s
  where s.topic_id = v_topic.topic_id;
end
$$;
