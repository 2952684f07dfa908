/*
 * The live topic of that name, checked to have that partition. Raises GP001 or GP004.
 */
create or replace function gapless.find_partition(p_topic text, p_partition integer)
returns gapless.topic
language plpgsql
stable
as $$
declare
  v_topic gapless.topic := gapless.find_topic(p_topic);
begin
  if p_partition is null or p_partition < 0 or p_partition >= v_topic.partitions then
    raise exception using
      errcode = 'GP004',
      message = format('topic "%s" has no partition %s', p_topic, coalesce(p_partition::text, 'null')),
      detail = json_build_object('partition', p_partition, 'partitions', v_topic.partitions)::text;
  end if;
  return v_topic;
end
$$;
