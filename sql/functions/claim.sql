/*
 * Claims events of one partition for a member of a group: a lease on at most p_max_events (1 to 10,000) and about
 * p_max_bytes of them, at least one, and on to the end of the last one's transaction.
 *
 * p_ack is a lease to ack first; a lost one is told in ack_status and stops nothing. A call repeated with the same
 * p_member and p_request_id while its lease is open answers that lease again (replayed). p_partitions are the only
 * ones to look at, in that order; without it all are, from a random one on.
 *
 * lease is null when there is nothing: due_at says when time alone may change that, busy that somebody else was
 * at work in a partition, so that asking again at once is worth it. skipped counts events that retention took from under the
 * group, as found by this call; lost those of them that a dead group lost, which this call revived. A paused group
 * gets nothing. Raises GP001, GP003, GP010, and GP014 for a cancelled group.
 */
create or replace function gapless.claim(
  p_topic text,
  p_group text,
  p_member text,
  p_max_events integer default 100,
  p_max_bytes bigint default 4194304,
  p_lease_seconds double precision default null,
  p_ack text default null,
  p_request_id text default null,
  p_partitions integer[] default null,
  out subscription_id integer,
  out status text,
  out ack_status text,
  out lease text,
  out partition_id integer,
  out items int8multirange,
  out attempt integer,
  out expires_at timestamptz,
  out skipped bigint,
  out lost bigint,
  out due_at timestamptz,
  out busy boolean,
  out replayed boolean
)
language sql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
select *
from gapless.claim_together(
  p_topic, p_group, array[p_member], array[p_max_events], array[p_max_bytes], array[p_lease_seconds], array[p_ack],
  case when p_request_id is not null then array[p_request_id] end, p_partitions
)
$$;
