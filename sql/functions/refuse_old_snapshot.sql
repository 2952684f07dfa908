/*
 * Raises 40001 where the caller's snapshot is older than what the group is at in a partition, of which p_state is the
 * newest row that it sees; nothing in READ COMMITTED.
 *
 * As gapless.append_position does, for callers that write something else before. The caller holds the lock of the partition.
 */
create or replace function gapless.refuse_old_snapshot(p_state gapless.consumer_offset)
returns void
language plpgsql
as $$
begin
  if current_setting('transaction_isolation') = 'read committed' then
    return;
  end if;
  begin
    perform gapless.append_position(p_state);
    raise exception 'undo';
  exception when raise_exception then
    null;
  end;
end
$$;
