/*
 * The topic and the subscription of that name, as they are now and stay until this transaction ends
 * for all that change a group rather than consume. Raises GP001, GP010.
 *
 * A row lock, taken after the lock of the topic's retention and before those of the group's
 * partitions. Claims and acknowledgements do not wait for it.
 */
create or replace function gapless.lock_subscription(
  p_topic text,
  p_group text,
  out topic gapless.topic,
  out subscription gapless.subscription
)
language plpgsql
set enable_seqscan = off
as $$
declare
  v_found record := gapless.find_subscription(p_topic, p_group);
begin
  topic := v_found.topic;
  select * into subscription
  from gapless.subscription s
  where s.subscription_id = (v_found.subscription).subscription_id
  for no key update;
  if not found then
    raise exception using errcode = 'GP010', message = 'the group was deleted';
  end if;
end
$$;
