/*
 * The keys of this partition that leases and retries hold, in key ordering: each with the offset from which on its events
 * have to wait. Open leases hold all events of their keys. Events that wait for another delivery hold what comes after
 * them: those that are not due at p_now, or all of them where it is null, as new events need to know. Who reads those
 * that are due says as of when: between two looks at the clock one may become due.
 *
 * What dead letters hold is asked by key, see gapless.dead_keys: there may be any number of them. An object, as
 * whether it has a key takes a binary search however many there are.
 */
create or replace function gapless.held_keys(p_state gapless.consumer_offset, p_now timestamptz)
returns jsonb
language plpgsql
volatile
set enable_seqscan = off
as $$
begin
  return (
    select coalesce(jsonb_object_agg(h.key, h.from_offset), '{}')
    from (
      select a.key, min(a.from_offset) as from_offset
      from (
        select k as key, 0::bigint as from_offset
        from gapless.find_leases(p_state.subscription_id, p_state.partition_id, p_state.leases) l
        cross join lateral unnest(l.keys) k
        where p_state.leases <> '{}'
        union all
        select k, r.from_offset
        from gapless.retry_event r
        cross join lateral unnest(r.keys) k
        where p_state.retrying > 0
          and r.subscription_id = p_state.subscription_id and r.partition_id = p_state.partition_id
          and r.lease_id is null and (p_now is null or r.due_at > p_now)
      ) a
      group by a.key
    ) h
  );
end
$$;
