/*
 * One dead letter of a group, whatever its status. Raises GP001, GP010, GP013.
 */
create or replace function gapless.get_dead_letter(p_topic text, p_group text, p_dead_letter_id bigint)
returns gapless.dead_letter
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  v_subscription gapless.subscription := gapless.get_subscription(p_topic, p_group);
  v_letter gapless.dead_letter;
begin
  select * into v_letter
  from gapless.dead_letter d
  where d.dead_letter_id = p_dead_letter_id and d.subscription_id = v_subscription.subscription_id;
  if not found then
    raise exception using
      errcode = 'GP013',
      message = format('the group has no dead letter %s', p_dead_letter_id),
      detail = json_build_object('dead_letter_id', p_dead_letter_id)::text;
  end if;
  return v_letter;
end
$$;
