/*
 * Stores a ticket by its SHA-256, which one stream of these topics, or of the group p_subscription of its
 * one topic, may be opened with during p_seconds; returns until when. p_ends_at is when the stream must
 * end. What p_name may do is the caller's matter. Raises GP003 for bad values, GP018 where the key was
 * revoked or has expired.
 */
create or replace function gapless.create_ticket(
  p_ticket_hash bytea,
  p_key_id integer,
  p_name text,
  p_topics text[],
  p_subscription text,
  p_seconds double precision,
  p_ends_at timestamptz default null
)
returns timestamptz
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_now timestamptz := gapless.clock();
  v_expires_at timestamptz;
begin
  perform gapless.check_derived('ticket_hash', p_ticket_hash, p_name, p_key_id);
  if cardinality(p_topics) is null or cardinality(p_topics) not between 1 and 1000
    or (p_subscription is not null and cardinality(p_topics) <> 1)
  then
    raise exception using
      errcode = 'GP003', message = 'a ticket is for topics, or for a group of one', detail = '{"field":"topics"}';
  end if;
  if p_seconds is null or p_seconds not between 0 and 300 then
    raise exception using
      errcode = 'GP003', message = 'a ticket lasts five minutes at most', detail = '{"field":"seconds"}';
  end if;
  v_expires_at := v_now + make_interval(secs => p_seconds);
  insert into gapless.stream_ticket (ticket_hash, key_id, name, topics, subscription, expires_at, ends_at)
  values (p_ticket_hash, p_key_id, p_name, p_topics, p_subscription, v_expires_at, p_ends_at);
  return v_expires_at;
end
$$;
