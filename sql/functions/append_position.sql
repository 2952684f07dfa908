/*
 * Makes p_state what its group is at in its partition: the next row of gapless.consumer_offset.
 *
 * The caller holds the lock of the partition and read the state after it was granted. In READ
 * COMMITTED nobody can have come between; a caller whose snapshot is older gets 40001.
 */
create or replace function gapless.append_position(p_state gapless.consumer_offset)
returns void
language plpgsql
as $$
begin
  p_state.seq := p_state.seq + 1;
  p_state.changed_at := gapless.clock();
  if current_setting('transaction_isolation') = 'read committed' then
    insert into gapless.consumer_offset select p_state.*;
    return;
  end if;
  -- A sweep may have made the number of a newer row free again, but only after it removed this one: waiting for
  -- it, or 40001 where it is gone.
  perform from gapless.consumer_offset c
  where c.subscription_id = p_state.subscription_id and c.partition_id = p_state.partition_id and c.seq = p_state.seq - 1
  for key share;
  begin
    insert into gapless.consumer_offset select p_state.*;
  exception when unique_violation then
    raise exception using
      errcode = '40001',
      message = 'the group has moved since this transaction took its snapshot',
      hint = 'Retry the transaction, or use READ COMMITTED.';
  end;
end
$$;
