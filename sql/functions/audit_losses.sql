/*
 * Notes for each subscription what a cap of the topic took from it: events from p_earliest to p_to - 1
 * that it had not claimed, had leased, or would have been given again. p_setting names the cap.
 *
 * What it loses within a minute is one note, which grows meanwhile, as a log that is always full loses a little all the
 * time.
 */
create or replace function gapless.audit_losses(
  p_topic gapless.topic,
  p_partition integer,
  p_earliest bigint,
  p_to bigint,
  p_setting text
)
returns void
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_taken int8multirange := int8multirange(int8range(p_earliest, p_to));
  v_loss record;
begin
  for v_loss in
    select
      s.name, s.created_at,
      greatest(0, p_to - greatest(p_earliest, c.position)) as waiting,
      (
        select coalesce(sum(gapless.events_in((l.items - l.acked) * v_taken)), 0)
        from gapless.find_leases(s.subscription_id, p_partition, c.leases) l
      ) as in_flight,
      (
        select coalesce(sum(gapless.events_in(int8multirange(int8range(r.from_offset, r.to_offset + 1)) * v_taken)), 0)
        from gapless.retry_event r
        where r.subscription_id = s.subscription_id and r.partition_id = p_partition and r.from_offset < p_to
          and r.lease_id is null and not r.redriven
      ) as retrying
    from gapless.subscription s
    cross join lateral gapless.newest_position(s.subscription_id, p_partition) c
    where s.topic_id = p_topic.topic_id and s.status in ('ACTIVE', 'PAUSED')
    order by s.name
  loop
    continue when v_loss.waiting + v_loss.in_flight + v_loss.retrying = 0;
    update gapless.audit_log a
    set details = a.details || jsonb_build_object(
      'earliest', p_to,
      'waiting', v_loss.waiting + (a.details ->> 'waiting')::bigint,
      'in_flight', v_loss.in_flight + (a.details ->> 'in_flight')::bigint,
      'retrying', v_loss.retrying + (a.details ->> 'retrying')::bigint
    )
    where a.audit_id = (
      select n.audit_id
      from (
        -- Enough to find those of all partitions.
        select * from gapless.audit_log l
        where l.topic = p_topic.name and l.subscription = v_loss.name
        order by l.audit_id desc
        limit 1000
      ) n
      where n.actor = 'retention' and n.at > greatest(gapless.clock() - interval '1 minute', v_loss.created_at)
        and n.details @> jsonb_build_object('partition', p_partition, 'setting', p_setting)
      order by n.audit_id desc
      limit 1
    );
    continue when found;
    perform gapless.audit('retention', 'trim', p_topic.name, v_loss.name, jsonb_build_object(
      'partition', p_partition, 'setting', p_setting, 'earliest', p_to,
      'waiting', v_loss.waiting, 'in_flight', v_loss.in_flight, 'retrying', v_loss.retrying
    ));
  end loop;
end
$$;
