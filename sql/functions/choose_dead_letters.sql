/*
 * The dead transactions of a group that a redrive or a discard is about, by partition and offset: those
 * with one of the ids, or with an event that the filters fit; whole ones, until p_limit events are reached.
 * Of a transaction that a seek or gapless.force_complete went through, what is dead still.
 *
 * Locks the partitions that they are in. Raises GP003, and GP013 for an id that the group does not have.
 */
create or replace function gapless.choose_dead_letters(
  p_subscription gapless.subscription,
  p_dead_letter_ids bigint[],
  p_type text,
  p_key text,
  p_reason text,
  p_limit integer
)
returns table (partition_id integer, from_offset bigint, to_offset bigint, events bigint, keys text[], size bigint, errors jsonb)
language plpgsql
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_missing bigint;
  v_ids bigint[];
begin
  if p_limit is null or p_limit not between 1 and 100000 then
    raise exception using errcode = 'GP003', message = 'limit must be 1 to 100,000', detail = '{"field":"limit"}';
  end if;
  if p_dead_letter_ids is not null and num_nonnulls(p_type, p_key, p_reason) > 0 then
    raise exception using
      errcode = 'GP003', message = 'ids and filters exclude each other', detail = '{"field":"ids"}';
  end if;
  select i.id into v_missing
  from unnest(p_dead_letter_ids) as i(id)
  where i.id is null or not exists (
    select from gapless.dead_letter d
    where d.dead_letter_id = i.id and d.subscription_id = p_subscription.subscription_id
  )
  limit 1;
  if found then
    raise exception using
      errcode = 'GP013',
      message = format('the group has no dead letter %s', v_missing),
      detail = json_build_object('dead_letter_id', v_missing)::text;
  end if;
  -- Filters choose by the index of dead letters first, so that a group of very many is not sorted for each call.
  v_ids := coalesce(p_dead_letter_ids, array(
    select d.dead_letter_id
    from gapless.dead_letter d
    where d.subscription_id = p_subscription.subscription_id and d.status = 'dead'
      and gapless.is_like(d, p_type, p_key, p_reason)
    order by d.partition_id, d.log_offset
    limit p_limit
  ));
  perform gapless.lock_group(p_subscription.subscription_id, array(
    select distinct d.partition_id from gapless.dead_letter d where d.dead_letter_id = any (v_ids)
  ));
  -- Deleted while this waited: its dead letters go later than it does.
  if not exists (select from gapless.subscription s where s.subscription_id = p_subscription.subscription_id) then
    return;
  end if;
  return query
  select c.partition_id, c.from_offset, c.to_offset, c.events, c.keys, c.size, c.errors
  from (
    select u.*, sum(u.events) over (order by u.partition_id, u.from_offset rows unbounded preceding) - u.events as before
    from (
      select
        d.partition_id, min(d.log_offset) as from_offset, max(d.log_offset) as to_offset, count(*) as events,
        array_agg(distinct d.key) filter (where d.key is not null) as keys, sum(d.size)::bigint as size,
        (array_agg(d.errors order by d.log_offset))[1] as errors
      from gapless.dead_letter d
      where d.subscription_id = p_subscription.subscription_id and d.status = 'dead'
        and (d.partition_id, d.log_offset) in (
          -- Once for each transaction, of which all letters may be named.
          select i.partition_id, o.log_offset
          from (
            select distinct n.partition_id, n.from_offset, n.to_offset
            from gapless.dead_letter n
            where n.dead_letter_id = any (v_ids)
          ) i
          cross join lateral generate_series(i.from_offset, i.to_offset) as o(log_offset)
        )
      group by d.partition_id, d.from_offset
    ) u
  ) c
  where c.before = 0 or c.before + c.events <= p_limit
  order by c.partition_id, c.from_offset;
end
$$;
