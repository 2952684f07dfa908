/*
 * The smallest offset of a dead letter of this partition that was neither redriven nor discarded; null without any.
 */
create or replace function gapless.first_dead(p_subscription_id integer, p_partition integer)
returns bigint
language sql
stable
as $$
  select d.log_offset
  from gapless.dead_letter d
  where d.subscription_id = p_subscription_id and d.partition_id = p_partition and d.status = 'dead'
  order by d.log_offset
  limit 1
$$;
