/*
 * The last offset of the transaction that the event at p_offset belongs to, p_offset itself for one that
 * stands alone. Events of one publish with one id are a transaction: the same id in a later call, which
 * has a later time, names another.
 */
create or replace function gapless.transaction_end(p_topic_id integer, p_partition integer, p_offset bigint)
returns bigint
language plpgsql
volatile
as $$
declare
  v_id text;
  v_published_at timestamptz;
  v_end bigint := p_offset;
  v_seen bigint;
  v_next bigint;
begin
  select o.transaction_id, o.published_at into v_id, v_published_at
  from gapless.read_outline(p_topic_id, p_partition, p_offset, p_offset) o;
  -- In steps, so that a short transaction reads little.
  while v_id is not null loop
    select min(e.log_offset) filter (where (e.transaction_id, e.published_at) is distinct from (v_id, v_published_at)), max(e.log_offset)
    into v_next, v_seen
    from gapless.read_outline(p_topic_id, p_partition, v_end + 1, v_end + 1000) e;
    if v_next is not null then
      return v_next - 1;
    end if;
    exit when v_seen is null;
    v_end := v_seen;
  end loop;
  return v_end;
end
$$;
