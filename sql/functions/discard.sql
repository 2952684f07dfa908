/*
 * Gives dead letters up for good and returns how many events; they stay listed as discarded, and what they
 * blocked goes on. Chooses like gapless.redrive. Audited. Raises GP001, GP003, GP010, GP013.
 */
create or replace function gapless.discard(
  p_topic text,
  p_group text,
  p_dead_letter_ids bigint[] default null,
  p_type text default null,
  p_key text default null,
  p_reason text default null,
  p_limit integer default 1000,
  p_actor text default null
)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_subscription gapless.subscription;
  v_chosen record;
  v_now timestamptz := gapless.clock();
  v_total bigint := 0;
begin
  v_subscription := gapless.get_subscription(p_topic, p_group);
  for v_chosen in
    select *
    from gapless.choose_dead_letters(
      v_subscription, p_dead_letter_ids, p_type, p_key, p_reason, p_limit
    )
  loop
    update gapless.dead_letter d
    set status = 'discarded', updated_at = v_now
    where d.subscription_id = v_subscription.subscription_id and d.partition_id = v_chosen.partition_id
      and d.log_offset between v_chosen.from_offset and v_chosen.to_offset and d.status = 'dead';
    v_total := v_total + v_chosen.events;
  end loop;
  if v_total > 0 then
    perform gapless.audit(
      p_actor, 'discard', p_topic, p_group,
      jsonb_build_object('events', v_total, 'ids', p_dead_letter_ids, 'type', p_type, 'key', p_key, 'reason', p_reason)
    );
    perform gapless.wake_group(v_subscription.subscription_id);
  end if;
  return v_total;
end
$$;
