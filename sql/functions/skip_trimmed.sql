/*
 * Counts as skipped what retention took from under a group in this partition, and returns the state,
 * which the caller appends if it differs. What is leased is left alone, as its events are with a member already, and
 * so is what was redriven, as the dead letters keep its payload.
 */
create or replace function gapless.skip_trimmed(p_state gapless.consumer_offset, p_earliest bigint)
returns gapless.consumer_offset
language plpgsql
set enable_seqscan = off
as $$
declare
  v_row gapless.retry_event;
  v_count bigint;
begin
  if p_state.position < p_earliest then
    p_state.skipped := p_state.skipped + p_earliest - p_state.position;
    p_state.position := p_earliest;
  end if;
  if p_state.retrying = 0 or p_earliest = 1 then
    return p_state;
  end if;
  for v_row in
    delete from gapless.retry_event r
    where r.subscription_id = p_state.subscription_id and r.partition_id = p_state.partition_id
      and r.from_offset < p_earliest and r.lease_id is null and not r.redriven
    returning *
  loop
    v_count := least(v_row.to_offset + 1, p_earliest) - v_row.from_offset;
    if v_row.to_offset >= p_earliest then
      v_row.from_offset := p_earliest;
      insert into gapless.retry_event select v_row.*;
    end if;
    p_state.skipped := p_state.skipped + v_count;
    p_state.retrying := p_state.retrying - v_count;
  end loop;
  return p_state;
end
$$;
