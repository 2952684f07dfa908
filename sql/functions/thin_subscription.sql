/*
 * Removes at most p_limit rows of each kind that a subscription of a deleted topic has, and returns how many in all.
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
  foreach v_table in array array['dead_letter', 'retry_event', 'lease', 'consumer_offset'] loop
    execute format(
      'delete from gapless.%1$I d where d.ctid = any (array('
      '  select r.ctid from gapless.%1$I r where r.subscription_id = $1 limit $2'
      '))',
      v_table
    ) using p_subscription_id, p_limit;
    get diagnostics v_removed = row_count;
    v_total := v_total + v_removed;
  end loop;
  return v_total;
end
$$;
