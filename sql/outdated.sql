/*
 * Functions of earlier versions that cannot be replaced, as they answer or are asked something else now. They are set
 * aside under another name in the transaction that makes them anew, so that no call after another finds none, and only
 * once. roles.sql hands on who may execute them, and drops them.
 */
do $$
declare
  v_function regprocedure;
  v_name name;
begin
  foreach v_function in array array[
    to_regprocedure(
      'gapless.publish(text, json[], text[], text[], text[], text[], text[], timestamptz[], json[], text[], text[],'
      ' bytea[], integer, bigint, text, bytea)'
    ),
    to_regprocedure(
      'gapless.append_events(integer, integer[], json[], bytea[], text[], text[], text[], text[], text[],'
      ' timestamptz[], json[], text[], text[], bigint)'
    ),
    to_regprocedure(
      'gapless.insert_events(integer, integer[], json[], bytea[], text[], text[], text[], text[], text[],'
      ' timestamptz[], json[], text[], text[], bigint)'
    ),
    to_regprocedure('gapless.held_keys(gapless.subscription, gapless.consumer_offset, boolean)'),
    to_regprocedure('gapless.held_keys(gapless.subscription, gapless.consumer_offset, timestamptz)'),
    to_regprocedure('gapless.find_lease(text)'),
    to_regprocedure('gapless.revive(gapless.subscription)'),
    to_regprocedure('gapless.list_dead_letters(text, text, text, integer, bigint, integer, text, text, text)'),
    to_regprocedure('gapless.apply_retention()'),
    to_regprocedure('gapless.event_completion(text, integer, bigint)')
  ] loop
    select p.proname into v_name
    from pg_proc p
    where p.oid = v_function and 'published_at' = any (p.proargnames) is not true;
    if found then
      execute format('alter function %s rename to %I', v_function, 'outdated:' || v_name);
    end if;
  end loop;
end
$$;
