/*
 * Events of one log from p_offset on, in order: at most p_limit, and at most about p_max_bytes of
 * data but always one. Empty beyond the tip. Raises GP001, GP003, GP004, and GP005 (with earliest)
 * when p_offset was trimmed; never skips in silence: 40001 for a snapshot that is older than what was dropped.
 */
create or replace function gapless.read_events(
  p_topic text,
  p_partition integer,
  p_offset bigint,
  p_limit integer default 100,
  p_max_bytes bigint default 4194304
)
returns setof gapless.event
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_topic gapless.topic := gapless.find_partition(p_topic, p_partition);
  v_earliest bigint := gapless.log_earliest(v_topic.topic_id, p_partition);
  v_found boolean := false;
begin
  if p_offset is null then
    raise exception using errcode = 'GP003', message = 'offset must not be null', detail = '{"field":"offset"}';
  end if;
  if p_offset >= v_earliest then
    return query select * from gapless.read_range(v_topic.topic_id, p_partition, p_offset, p_limit, p_max_bytes);
    v_found := found;
    -- Retention may have moved on, and taken a segment, between the two.
    v_earliest := gapless.log_earliest(v_topic.topic_id, p_partition);
  end if;
  perform gapless.refuse_trimmed(p_partition, p_offset, v_earliest);
  if not v_found and p_limit > 0 and current_setting('transaction_isolation') <> 'read committed'
    and p_offset <= (select t.log_offset from gapless.log_tip(v_topic.topic_id, p_partition) t)
  then
    raise exception using
      errcode = '40001',
      message = 'events were dropped since this transaction took its snapshot',
      hint = 'Retry the transaction, or read in READ COMMITTED.';
  end if;
end
$$;
