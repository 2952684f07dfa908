/*
 * Notes for each subscription what a cap of the topic took from it: events from p_earliest to p_to - 1
 * that it had not claimed, had leased, or would have been given again. p_setting names the cap.
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
as $$
declare
  v_taken int8multirange := int8multirange(int8range(p_earliest, p_to));
begin
  perform gapless.audit('retention', 'trim', p_topic.name, g.name, jsonb_build_object(
    'partition', p_partition, 'setting', p_setting, 'earliest', p_to,
    'waiting', g.waiting, 'in_flight', g.in_flight, 'retrying', g.retrying
  ))
  from (
    select
      s.name,
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
  ) g
  where g.waiting + g.in_flight + g.retrying > 0;
end
$$;
