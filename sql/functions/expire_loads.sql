/*
 * Removes chunks of bulk loads to which nothing was added for a day, the oldest first, at most p_limit
 * in a call, and returns how many. A load that is being published or discarded is left to that call.
 * Raises GP003 for a limit below 1.
 */
create or replace function gapless.expire_loads(p_limit integer default 100)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_before timestamptz := gapless.clock() - interval '1 day';
  v_load record;
  v_expired integer := 0;
  v_count integer;
begin
  perform gapless.check_limit(p_limit);
  for v_load in
    select c.topic_id, c.load_id
    from gapless.load_chunk c
    where exists (select from gapless.load_chunk o where o.staged_at <= v_before)
    group by c.topic_id, c.load_id
    having max(c.staged_at) <= v_before
    order by max(c.staged_at)
    limit p_limit
  loop
    exit when v_expired >= p_limit;
    continue when not pg_try_advisory_xact_lock(gapless.load_key(v_load.topic_id, v_load.load_id));
    delete from gapless.load_chunk k
    where k.ctid = any (array(
      select c.ctid
      from gapless.load_chunk c
      where c.topic_id = v_load.topic_id and c.load_id = v_load.load_id
        and not exists (
          select from gapless.load_chunk o
          where o.topic_id = v_load.topic_id and o.load_id = v_load.load_id
            and o.staged_at > v_before
        )
      limit p_limit - v_expired
    ));
    get diagnostics v_count = row_count;
    v_expired := v_expired + v_count;
  end loop;
  return v_expired;
end
$$;
