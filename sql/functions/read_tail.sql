/*
 * Events of several logs in one call, each with its topic's name, for readers that follow tips.
 *
 * p_limit and p_max_bytes hold for each log. A trimmed offset reads on from the earliest, as its
 * follower compares offsets itself; a deleted topic yields nothing.
 */
create or replace function gapless.read_tail(
  p_topic_ids integer[],
  p_partitions integer[],
  p_offsets bigint[],
  p_limit integer default 1000,
  p_max_bytes bigint default 4194304
)
returns table (
  topic text,
  topic_id integer,
  partition_id integer,
  log_offset bigint,
  published_at timestamptz,
  size integer,
  id text,
  source text,
  type text,
  subject text,
  event_time timestamptz,
  key text,
  headers json,
  datacontenttype text,
  transaction_id text,
  data json,
  data_bytes bytea
)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_name text;
begin
  for i in 1 .. coalesce(cardinality(p_topic_ids), 0) loop
    select t.name into v_name from gapless.topic t where t.topic_id = p_topic_ids[i] and t.deleted_at is null;
    continue when not found;
    return query
    select v_name, e.*
    from gapless.read_range(
      p_topic_ids[i],
      p_partitions[i],
      greatest(p_offsets[i], gapless.log_earliest(p_topic_ids[i], p_partitions[i])),
      p_limit,
      p_max_bytes
    ) e;
  end loop;
end
$$;
