/*
 * The topic and the subscription of that name. Raises GP001, GP010.
 */
create or replace function gapless.find_subscription(
  p_topic text,
  p_group text,
  out topic gapless.topic,
  out subscription gapless.subscription
)
language plpgsql
stable
set enable_seqscan = off
as $$
begin
  topic := gapless.find_topic(p_topic);
  select * into subscription from gapless.subscription s where s.topic_id = topic.topic_id and s.name = p_group;
  if not found then
    raise exception using
      errcode = 'GP010',
      message = format('topic "%s" has no group "%s"', p_topic, left(p_group, 200)),
      hint = 'Create it with PUT /v1/topics/{topic}/subscriptions/{group} or gapless.create_subscription().';
  end if;
end
$$;
