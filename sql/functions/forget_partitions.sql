/*
 * Makes this session look up the partitions of gapless.event and of one topic anew.
 *
 * PostgreSQL (all versions up to 18) may keep a list of partitions that lacks one: when ATTACH
 * PARTITION commits elsewhere in the milliseconds in which the list is read, the news arrives before
 * the list is stored and is lost, until the next ATTACH. What is undone here changes nothing and
 * holds no lock, but has made the session drop both lists; the next ones hold every partition that
 * was committed before.
 */
create or replace function gapless.forget_partitions(p_topic_id integer)
returns void
language plpgsql
as $$
begin
  alter table only gapless.event alter column size set statistics -1;
  execute format('alter table only gapless.event_%s alter column size set statistics -1', p_topic_id);
  raise exception 'undo';
exception when raise_exception or undefined_table or object_in_use then
  return;
end
$$;
