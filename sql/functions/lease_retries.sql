/*
 * Leases events that wait for another delivery, as p_state.next_lease: whole transactions with the same
 * number of deliveries behind them, within p_limit events, 500 runs and about p_max_bytes, at least one.
 *
 * partition: the first run only, and nothing while it is not due. key: runs in order, passing over
 * those whose key is held by a lease, by an earlier run or, with block, by a dead letter. none: those due longest.
 * items is empty when there is none; due_at is then when one becomes due, null when that depends on others.
 */
create or replace function gapless.lease_retries(
  p_subscription gapless.subscription,
  p_state gapless.consumer_offset,
  p_limit bigint,
  p_max_bytes bigint,
  out items int8multirange,
  out attempts integer,
  out keys text[],
  out due_at timestamptz
)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := gapless.clock();
  v_rows refcursor;
  v_run record;
  v_row gapless.retry_event;
  v_unit record;
  v_last bigint;
  v_taken bigint := 0;
  v_bytes bigint := 0;
  v_runs integer := 0;
  v_held jsonb;
  v_block boolean := p_subscription.on_dead_letter = 'block' and p_state.dead > 0;
  v_blocked_from bigint;
begin
  lease_retries.items := '{}';
  lease_retries.keys := '{}';
  -- Only in partition ordering does what is not due matter by its place; there the first run decides.
  if p_subscription.ordering = 'partition' then
    open v_rows for
      select r as run, false as blocked
      from gapless.retry_event r
      where r.subscription_id = p_state.subscription_id and r.partition_id = p_state.partition_id
        and r.lease_id is null
      order by r.from_offset;
  elsif p_subscription.ordering = 'key' then
    open v_rows for
      select
        r as run,
        v_block and exists (
          select from gapless.dead_keys(r.subscription_id, r.partition_id, r.keys) d where d.from_offset < r.from_offset
        ) as blocked
      from gapless.retry_event r
      where r.subscription_id = p_state.subscription_id and r.partition_id = p_state.partition_id
        and r.lease_id is null and r.due_at <= v_now
      order by r.from_offset;
  else
    open v_rows for
      select r as run, false as blocked
      from gapless.retry_event r
      where r.subscription_id = p_state.subscription_id and r.partition_id = p_state.partition_id
        and r.lease_id is null and r.due_at <= v_now
      order by r.due_at;
  end if;
  if p_subscription.ordering = 'partition' and v_block then
    v_blocked_from := gapless.first_dead(p_state.subscription_id, p_state.partition_id);
  end if;
  loop
    fetch v_rows into v_run;
    exit when not found;
    -- What comes after it under the one key that is blocked is so itself.
    continue when v_run.blocked and cardinality((v_run.run).keys) = 1;
    v_row := v_run.run;
    exit when v_row.due_at > v_now or v_row.from_offset > v_blocked_from;
    if p_subscription.ordering = 'key' then
      if v_held is null then
        v_held := gapless.held_keys(p_state, v_now);
      end if;
      if v_run.blocked or gapless.is_held(v_held, v_row.keys, v_row.from_offset) then
        v_held := gapless.hold_keys(v_held, v_row.keys, v_row.from_offset);
        continue;
      end if;
    end if;
    if v_taken > 0 and v_row.attempts <> lease_retries.attempts then
      exit when p_subscription.ordering <> 'key';
      v_held := gapless.hold_keys(v_held, v_row.keys, v_row.from_offset);
      continue;
    end if;

    v_last := null;
    if v_row.redriven or v_row.size is not null then
      if v_taken = 0 or (
        v_taken + v_row.to_offset - v_row.from_offset < p_limit and v_bytes + coalesce(v_row.size, 0) <= p_max_bytes
      ) then
        v_last := v_row.to_offset;
        v_bytes := v_bytes + coalesce(v_row.size, 0);
      end if;
    else
      for v_unit in
        select *
        from gapless.units(
          p_subscription.topic_id, p_state.partition_id,
          int8multirange(int8range(v_row.from_offset, least(v_row.to_offset, v_row.from_offset + p_limit + 9999) + 1))
        )
      loop
        exit when (v_taken > 0 or v_last is not null) and (
          v_taken + v_unit.to_offset - v_row.from_offset >= p_limit or v_bytes + v_unit.size > p_max_bytes
        );
        v_last := v_unit.to_offset;
        v_bytes := v_bytes + v_unit.size;
      end loop;
    end if;
    exit when v_last is null;
    update gapless.retry_event r
    set to_offset = v_last, lease_id = p_state.next_lease
    where r.subscription_id = v_row.subscription_id and r.partition_id = v_row.partition_id
      and r.from_offset = v_row.from_offset;
    lease_retries.items := lease_retries.items + int8multirange(int8range(v_row.from_offset, v_last + 1));
    lease_retries.attempts := v_row.attempts;
    lease_retries.keys := lease_retries.keys || v_row.keys;
    v_taken := v_taken + v_last - v_row.from_offset + 1;
    if v_last < v_row.to_offset then
      v_row.from_offset := v_last + 1;
      insert into gapless.retry_event select v_row.*;
      exit;
    end if;
    v_runs := v_runs + 1;
    exit when v_taken >= p_limit or v_runs >= 500;
  end loop;
  close v_rows;
  if v_taken = 0 then
    lease_retries.due_at := case
      when p_subscription.ordering <> 'partition' then (
        select r.due_at
        from gapless.retry_event r
        where r.subscription_id = p_state.subscription_id and r.partition_id = p_state.partition_id
          and r.lease_id is null and r.due_at > v_now
        order by r.due_at
        limit 1
      )
      when v_row.due_at > v_now then v_row.due_at
    end;
  end if;
end
$$;
