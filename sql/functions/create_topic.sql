/*
 * Creates a topic, or returns the one that is there. A second call with the same number of
 * partitions and the same semantics changes nothing; with others it raises GP002. Raises GP003,
 * GP009 for bad values, 40001 for a snapshot from before the topic. A creation is noted in the
 * audit log, by p_actor. What the retention settings mean is told in functions/retain_log.sql.
 *
 * A queue has one subscription, "default", which is created with it, holds every event and has the
 * ordering none, which never changes.
 *
 * The topic's table is attached rather than created as a partition: that needs no lock which
 * conflicts with publishers and readers of other topics.
 */
create or replace function gapless.create_topic(
  p_topic text,
  p_partitions integer default 1,
  p_description text default null,
  p_segment_events bigint default 1000000,
  p_idempotency_seconds integer default 86400,
  p_semantics text default 'pub_sub',
  p_retention_seconds bigint default null,
  p_max_retention_seconds bigint default null,
  p_max_bytes bigint default null,
  p_actor text default null
)
returns table (topic gapless.topic, created boolean)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_topic gapless.topic;
  v_table text;
  v_field text;
begin
  perform gapless.check_topic_name(p_topic);
  perform gapless.check_topic_settings(
    p_partitions, p_description, p_segment_events, p_idempotency_seconds, p_semantics,
    p_retention_seconds, p_max_retention_seconds, p_max_bytes
  );
  perform pg_advisory_xact_lock(gapless.lock_key(6, 0, 0));
  select * into v_topic from gapless.topic t where t.name = p_topic and t.deleted_at is null;
  if found then
    v_field := case
      when v_topic.partitions <> p_partitions then 'partitions'
      when v_topic.semantics <> p_semantics then 'semantics'
    end;
    if v_field is not null then
      raise exception using
        errcode = 'GP002',
        message = case v_field
          when 'partitions'
          then format('topic "%s" exists with partitions: %s, which cannot change', p_topic, v_topic.partitions)
          else format('topic "%s" exists with the semantics "%s", which cannot change', p_topic, v_topic.semantics)
        end,
        detail = jsonb_build_object('field', v_field, 'current', to_jsonb(v_topic) -> v_field)::text;
    end if;
    return query select v_topic, false;
    return;
  end if;
  insert into gapless.topic (
    name, partitions, description, segment_events, idempotency_seconds, semantics,
    retention_seconds, max_retention_seconds, max_bytes, created_at, updated_at
  )
  select
    p_topic, p_partitions, p_description, p_segment_events, p_idempotency_seconds, p_semantics,
    p_retention_seconds, p_max_retention_seconds, p_max_bytes, c.now, c.now
  from (select gapless.clock() as now) c
  -- One that the caller's snapshot does not show: PostgreSQL refuses that as 40001.
  on conflict do nothing
  returning * into v_topic;
  v_table := 'event_' || v_topic.topic_id;
  execute format(
    'create table gapless.%I (like gapless.event including constraints) partition by range (partition_id, log_offset)',
    v_table
  );
  execute format(
    'alter table gapless.event attach partition gapless.%I for values in (%s)', v_table, v_topic.topic_id
  );
  perform gapless.audit(p_actor, 'create_topic', p_topic, null, jsonb_strip_nulls(jsonb_build_object(
    'partitions', p_partitions, 'semantics', p_semantics, 'retention_seconds', p_retention_seconds,
    'max_retention_seconds', p_max_retention_seconds, 'max_bytes', p_max_bytes
  )));
  if p_semantics = 'queue' then
    perform gapless.create_subscription(
      p_topic, 'default', '{"at":"earliest"}', '{"ordering":"none"}', p_actor
    );
  end if;
  perform pg_notify('gapless', v_topic.topic_id::text);
  return query select v_topic, true;
end
$$;
