/*
 * Removes at most p_limit rows of each kind that a removed subscription left, but dead letters of about 64 MiB
 * only, and returns how many in all.
 */
create or replace function gapless.thin_subscription(p_subscription_id integer, p_limit integer)
returns bigint
language plpgsql
as $$
declare
  v_table text;
  v_removed bigint;
  v_total bigint := 0;
begin
  foreach v_table in array array['retry_event', 'lease', 'consumer_offset'] loop
    execute format(
      'delete from gapless.%1$I d where d.ctid = any (array('
      '  select r.ctid from gapless.%1$I r where r.subscription_id = $1 limit $2'
      '))',
      v_table
    ) using p_subscription_id, p_limit;
    get diagnostics v_removed = row_count;
    v_total := v_total + v_removed;
  end loop;
  -- Each may hold a payload that lies in hundreds of rows of its own.
  delete from gapless.dead_letter d
  where d.ctid = any (array(
    select b.id
    from (
      select l.id, sum(l.size) over (order by l.dead_letter_id rows unbounded preceding) - l.size as before
      from (
        select n.ctid as id, n.dead_letter_id, coalesce(n.size, 0)::bigint as size
        from gapless.dead_letter n
        -- In an order that one index has: by the primary key, it would walk the letters of other groups.
        where (n.subscription_id, n.dead_letter_id) > (p_subscription_id, 0) and n.subscription_id <= p_subscription_id
        order by n.subscription_id, n.dead_letter_id
        limit p_limit
      ) l
    ) b
    where b.before < 67108864
  ));
  get diagnostics v_removed = row_count;
  return v_total + v_removed;
end
$$;
