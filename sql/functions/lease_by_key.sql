/*
 * The next events of a partition whose keys nothing holds, for a group in key ordering, and the state
 * with its position after them, which the caller appends.
 *
 * Events whose key is held by a lease, by an event that waits for another delivery or, with block, by a
 * dead letter are parked: they wait in gapless.retry_event without a delivery behind them. At most 10,000 events
 * wait in a partition, so that one key in trouble does not fill the table; from then on new events wait in the log.
 */
create or replace function gapless.lease_by_key(
  p_subscription gapless.subscription,
  inout p_state gapless.consumer_offset,
  p_limit bigint,
  p_max_bytes bigint,
  out items int8multirange,
  out keys text[],
  out more boolean
)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_held jsonb;
  v_block boolean := p_subscription.on_dead_letter = 'block' and p_state.dead > 0;
  v_now timestamptz := gapless.clock();
  v_last bigint;
  v_unit record;
begin
  lease_by_key.items := '{}';
  lease_by_key.keys := '{}';
  more := false;
  for v_round in 1 .. 10 loop
    if p_state.retrying >= 10000 then
      return;
    end if;
    v_last := gapless.next_events(
      p_subscription.topic_id, p_state.partition_id, p_state.position, least(p_limit, 10000 - p_state.retrying), p_max_bytes
    );
    if v_last is null then
      return;
    end if;
    if v_held is null then
      v_held := gapless.held_keys(p_state, null);
    end if;
    for v_unit in
      select
        u.*,
        v_block and exists (
          select from gapless.dead_keys(p_state.subscription_id, p_state.partition_id, u.keys)
        ) as blocked
      from gapless.units(
        p_subscription.topic_id, p_state.partition_id, int8multirange(int8range(p_state.position, v_last + 1))
      ) u
    loop
      if v_unit.blocked or v_held ?| v_unit.keys then
        insert into gapless.retry_event (
          subscription_id, partition_id, from_offset, to_offset, attempts, due_at, keys, size
        )
        values (
          p_state.subscription_id, p_state.partition_id, v_unit.from_offset, v_unit.to_offset, 0, v_now,
          v_unit.keys, v_unit.size
        );
        p_state.retrying := p_state.retrying + v_unit.to_offset - v_unit.from_offset + 1;
        -- What comes after it under the one key that is blocked is so itself.
        if not v_unit.blocked or cardinality(v_unit.keys) > 1 then
          v_held := gapless.hold_keys(v_held, v_unit.keys, v_unit.from_offset);
        end if;
      else
        lease_by_key.items := lease_by_key.items + int8multirange(int8range(v_unit.from_offset, v_unit.to_offset + 1));
        lease_by_key.keys := lease_by_key.keys || v_unit.keys;
      end if;
    end loop;
    p_state.position := v_last + 1;
    if lease_by_key.items <> '{}' then
      lease_by_key.keys := array(select distinct k from unnest(lease_by_key.keys) k);
      return;
    end if;
  end loop;
  more := true;
end
$$;
