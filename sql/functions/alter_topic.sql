/*
 * Changes the settings named in p_changes (description, segment_events, idempotency_seconds,
 * retention_seconds, max_retention_seconds, max_bytes) and returns the topic. Null removes a
 * description and turns a retention setting off. Raises GP001, GP003; a repeated call changes nothing more.
 *
 * What changed is noted in the audit log, by p_actor.
 *
 * A new segment size holds for segments created from then on, new retention for what is there already too.
 */
create or replace function gapless.alter_topic(p_topic text, p_changes jsonb, p_actor text default null)
returns gapless.topic
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_topic gapless.topic := gapless.find_topic(p_topic);
  v_changed gapless.topic;
  v_unknown text;
begin
  if jsonb_typeof(p_changes) is distinct from 'object' then
    raise exception using errcode = 'GP003', message = 'changes must be an object', detail = '{"field":"changes"}';
  end if;
  select k into v_unknown
  from jsonb_object_keys(p_changes) k
  where k not in (
    'description', 'segment_events', 'idempotency_seconds', 'retention_seconds', 'max_retention_seconds', 'max_bytes'
  )
  limit 1;
  if v_unknown is not null then
    raise exception using
      errcode = 'GP003',
      message = format('%s cannot be changed', v_unknown),
      detail = json_build_object('field', v_unknown)::text;
  end if;
  -- What gapless.retain_log finds out with the old settings must not outlast them.
  if p_changes ?| array['retention_seconds', 'max_retention_seconds', 'max_bytes'] then
    perform pg_advisory_xact_lock(gapless.lock_key(7, v_topic.topic_id, 0));
  end if;
  -- Locked before it is read, or a change of another setting at the same time would be undone.
  select * into v_topic
  from gapless.topic t
  where t.topic_id = v_topic.topic_id and t.deleted_at is null
  for no key update;
  if not found then
    raise exception using errcode = 'GP001', message = 'the topic was deleted';
  end if;
  begin
    v_changed := jsonb_populate_record(v_topic, p_changes);
  exception when data_exception then
    raise exception using errcode = 'GP003', message = sqlerrm, detail = '{"field":"changes"}';
  end;
  perform gapless.check_topic_settings(
    v_changed.partitions, v_changed.description, v_changed.segment_events, v_changed.idempotency_seconds,
    v_changed.semantics, v_changed.retention_seconds, v_changed.max_retention_seconds, v_changed.max_bytes
  );
  if v_changed is not distinct from v_topic then
    return v_topic;
  end if;
  update gapless.topic t
  set description = v_changed.description,
      segment_events = v_changed.segment_events,
      idempotency_seconds = v_changed.idempotency_seconds,
      retention_seconds = v_changed.retention_seconds,
      max_retention_seconds = v_changed.max_retention_seconds,
      max_bytes = v_changed.max_bytes,
      updated_at = gapless.clock()
  where t.topic_id = v_topic.topic_id
  returning * into v_topic;
  perform gapless.audit(p_actor, 'alter_topic', p_topic, null, p_changes);
  delete from gapless.retention_check c where c.topic_id = v_topic.topic_id;
  return v_topic;
end
$$;
