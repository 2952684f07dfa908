/*
 * What a group is at in one partition: the newest row of gapless.consumer_offset. All null when there is none.
 */
create or replace function gapless.newest_position(p_subscription_id integer, p_partition integer)
returns gapless.consumer_offset
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_state gapless.consumer_offset;
begin
  select * into v_state
  from gapless.consumer_offset c
  where c.subscription_id = p_subscription_id and c.partition_id = p_partition
  order by c.seq desc
  limit 1;
  return v_state;
end
$$;
