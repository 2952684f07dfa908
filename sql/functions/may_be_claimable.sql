/*
 * Whether it is worth locking a partition of a group for a claim: something of it is leased, waits for
 * another delivery, or was never claimed.
 */
create or replace function gapless.may_be_claimable(
  p_topic_id integer,
  p_subscription_id integer,
  p_partition integer
)
returns boolean
language plpgsql
volatile
as $$
declare
  v_state gapless.consumer_offset := gapless.newest_position(p_subscription_id, p_partition);
begin
  return v_state.leases <> '{}' or v_state.retrying > 0 or v_state.position <= (
    select t.log_offset from gapless.log_tip(p_topic_id, p_partition) t
  );
end
$$;
