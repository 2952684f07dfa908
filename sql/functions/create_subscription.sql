/*
 * Creates a subscription, or returns the one that is there. A second call changes nothing; with
 * another start or other settings than it has, or for a cancelled one, it raises GP011. What a call
 * leaves out is not compared.
 *
 * p_start is a place as in gapless.check_start, by default latest; offsets by partition name every
 * partition. p_settings: what gapless.check_subscription_settings knows, and backfill: whether
 * existing events are held for the group, which must then agree with the start. A topic that is a
 * queue has one group, "default". Raises GP001, GP003, GP005, GP015, and 40001 for a snapshot from
 * before the group or from before a change of the topic.
 *
 * The lock of the topic's retention lets a start and a trim see each other. A publish in flight
 * gets its offsets after the tip that is read here, so latest misses nothing that commits later.
 */
create or replace function gapless.create_subscription(
  p_topic text,
  p_group text,
  p_start jsonb default null,
  p_settings jsonb default '{}',
  p_actor text default null
)
returns table (subscription gapless.subscription, created boolean)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_topic gapless.topic := gapless.find_topic(p_topic);
  v_wanted gapless.subscription;
  v_there gapless.subscription;
  v_backfill jsonb := p_settings -> 'backfill';
  v_start jsonb;
  v_field text;
begin
  perform gapless.check_subscription_name(p_group);
  v_start := gapless.check_start(
    coalesce(p_start, jsonb_build_object('at', case when v_backfill = 'true' then 'earliest' else 'latest' end)), 'start'
  );
  v_wanted.ordering := 'partition';
  v_wanted.on_dead_letter := 'continue';
  v_wanted.delivery := 'at_least_once';
  v_wanted.lease_seconds := 30;
  v_wanted.max_attempts := 5;
  v_wanted.backoff_seconds := 1;
  v_wanted.max_backoff_seconds := 300;
  v_wanted.heartbeat_seconds := 10;
  v_wanted := gapless.check_subscription_settings(
    v_wanted, case when jsonb_typeof(p_settings) = 'object' then p_settings - 'backfill' else p_settings end
  );
  if v_backfill is not null and v_backfill is distinct from to_jsonb(v_start ->> 'at' <> 'latest') then
    raise exception using
      errcode = 'GP003',
      message = case
        when jsonb_typeof(v_backfill) <> 'boolean' then 'backfill must be true or false'
        when v_backfill = 'true' then 'a start at latest holds no existing events'
        else 'without existing events a group starts at latest'
      end,
      detail = '{"field":"backfill"}';
  end if;
  if v_topic.semantics = 'queue' and p_group <> 'default' then
    raise exception using
      errcode = 'GP011',
      message = format('topic "%s" is a queue: its one group is "default"', p_topic),
      detail = '{"field":"semantics","current":"queue"}';
  end if;

  select * into v_there from gapless.subscription s where s.topic_id = v_topic.topic_id and s.name = p_group;
  if not found then
    perform pg_advisory_xact_lock(gapless.lock_key(7, v_topic.topic_id, 0));
    perform from gapless.topic t where t.topic_id = v_topic.topic_id and t.deleted_at is null for share;
    if not found then
      raise exception using errcode = 'GP001', message = 'the topic was deleted';
    end if;
    select * into v_there from gapless.subscription s where s.topic_id = v_topic.topic_id and s.name = p_group;
  end if;
  if v_there.subscription_id is not null then
    if v_there.status = 'CANCELLED' then
      raise exception using
        errcode = 'GP011',
        message = format('group "%s" was cancelled; delete it first', p_group),
        detail = json_build_object('status', v_there.status, 'reason', v_there.reason)::text;
    end if;
    v_wanted.start := v_start;
    select w.key into v_field
    from jsonb_each(to_jsonb(v_wanted)) w
    join jsonb_each(to_jsonb(v_there)) t on t.key = w.key and t.value <> w.value
    -- What the caller leaves out is as it was made or changed.
    where p_settings ? w.key or (w.key = 'start' and (p_start is not null or v_backfill is not null))
    order by w.key not in ('start', 'ordering', 'delivery'), w.key
    limit 1;
    if found then
      raise exception using
        errcode = 'GP011',
        message = case
          when v_field in ('start', 'ordering', 'delivery')
          then format('group "%s" has another %s, which cannot change', p_group, v_field)
          else format('group "%s" has another %s; change it with PATCH or gapless.alter_subscription()', p_group, v_field)
        end,
        detail = jsonb_build_object('field', v_field, 'current', to_jsonb(v_there) -> v_field)::text;
    end if;
    return query select v_there, false;
    return;
  end if;

  if v_start ? 'offsets' and exists (
    select from jsonb_object_keys(v_start -> 'offsets') k where k::integer >= v_topic.partitions
    union all
    select from generate_series(0, v_topic.partitions - 1) p where not v_start -> 'offsets' ? p::text
  ) then
    raise exception using
      errcode = 'GP003',
      message = format('start must name an offset for each of the %s partitions', v_topic.partitions),
      detail = json_build_object('field', 'start', 'partitions', v_topic.partitions)::text;
  end if;
  insert into gapless.subscription (
    topic_id, name, start, ordering, on_dead_letter, delivery, lease_seconds, max_attempts, backoff_seconds,
    max_backoff_seconds, max_in_flight, heartbeat_seconds, heartbeat_timeout_seconds, created_at, updated_at, status_at
  )
  select
    v_topic.topic_id, p_group, v_start, v_wanted.ordering, v_wanted.on_dead_letter, v_wanted.delivery,
    v_wanted.lease_seconds, v_wanted.max_attempts, v_wanted.backoff_seconds, v_wanted.max_backoff_seconds,
    v_wanted.max_in_flight, v_wanted.heartbeat_seconds, v_wanted.heartbeat_timeout_seconds, c.now, c.now, c.now
  from (select gapless.clock() as now) c
  -- As in gapless.create_topic.
  on conflict do nothing
  returning * into v_there;
  insert into gapless.heartbeat (subscription_id) values (v_there.subscription_id);
  insert into gapless.consumer_offset (
    subscription_id, partition_id, seq, position, counted_from, started_from, acked, dead, skipped, in_flight, retrying,
    leases, next_lease, changed_at
  )
  select v_there.subscription_id, p, 1, o.position, o.position, o.position, 0, 0, 0, 0, 0, '{}', 1, v_there.created_at
  from generate_series(0, v_topic.partitions - 1) p
  cross join lateral (select gapless.start_offset(v_topic, p, v_start, 'start') as position) o;
  perform gapless.audit(
    p_actor, 'create_subscription', p_topic, p_group, jsonb_build_object('start', v_start) || p_settings
  );
  perform gapless.wake_group(v_there.subscription_id);
  return query select v_there, true;
end
$$;
