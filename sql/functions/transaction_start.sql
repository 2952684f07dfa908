/*
 * The first offset of the transaction that p_offset belongs to, p_offset itself for an event that stands
 * alone or lies beyond the tip; not below p_earliest.
 */
create or replace function gapless.transaction_start(
  p_topic_id integer,
  p_partition integer,
  p_offset bigint,
  p_earliest bigint
)
returns bigint
language plpgsql
stable
as $$
declare
  v_id text;
  v_published_at timestamptz;
  v_first bigint := p_offset;
  v_from bigint;
  v_other bigint;
begin
  select o.transaction_id, o.published_at into v_id, v_published_at
  from gapless.read_outline(p_topic_id, p_partition, p_offset, p_offset) o;
  while v_id is not null and v_first > p_earliest loop
    v_from := greatest(p_earliest, v_first - 100);
    select max(e.log_offset) into v_other
    from gapless.read_outline(p_topic_id, p_partition, v_from, v_first - 1) e
    where (e.transaction_id, e.published_at) is distinct from (v_id, v_published_at);
    v_first := coalesce(v_other + 1, v_from);
    exit when v_other is not null;
  end loop;
  return v_first;
end
$$;
