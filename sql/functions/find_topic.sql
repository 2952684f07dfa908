/*
 * The live topic of that name. Raises GP001 when there is none.
 */
create or replace function gapless.find_topic(p_topic text)
returns gapless.topic
language plpgsql
stable
set enable_seqscan = off
as $$
declare
  v_topic gapless.topic;
begin
  select * into v_topic from gapless.topic t where t.name = p_topic and t.deleted_at is null;
  if not found then
    raise exception using
      errcode = 'GP001',
      message = format('topic "%s" does not exist', left(p_topic, 200)),
      hint = 'Create it with PUT /v1/topics/{topic} or gapless.create_topic().';
  end if;
  return v_topic;
end
$$;
