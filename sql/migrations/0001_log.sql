/*
 * The log: topics, their events in segments, and what publishing needs beside them.
 *
 * `event` is insert-only. It is partitioned by topic, then by (partition, offset) into segments;
 * both levels are attached at run time (functions/create_topic.sql, functions/create_segments.sql).
 * There is no counter: the newest row of a (topic, partition) is the counter, read and extended
 * under an advisory lock (functions/insert_events.sql). It has no check constraint: PostgreSQL parses
 * those anew for every statement, and gapless.publish checks more than they could.
 */
create schema if not exists gapless;

create table gapless.topic (
  topic_id integer generated always as identity primary key,
  name text collate "C" not null,
  partitions integer not null,
  description text,
  segment_events bigint not null,
  idempotency_seconds integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Deletion only marks the row, so that it never waits for readers; the tables go later.
  deleted_at timestamptz,
  constraint topic_name_valid check (name ~ '^[a-z0-9][a-z0-9._-]{0,199}$'),
  constraint topic_partitions_valid check (partitions between 1 and 256),
  constraint topic_description_valid check (length(description) <= 1000),
  constraint topic_segment_events_valid check (segment_events between 1000 and 1000000000),
  constraint topic_idempotency_seconds_valid check (idempotency_seconds between 60 and 2592000)
);
create unique index topic_name_live on gapless.topic (name) where deleted_at is null;

create table gapless.event (
  topic_id integer not null,
  partition_id integer not null,
  log_offset bigint not null,
  published_at timestamptz not null,
  size integer not null,
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
  data_bytes bytea,
  constraint event_pkey primary key (topic_id, partition_id, log_offset)
) partition by list (topic_id);

create table gapless.segment (
  topic_id integer not null references gapless.topic,
  partition_id integer not null,
  from_offset bigint not null,
  to_offset bigint not null,
  created_at timestamptz not null,
  constraint segment_pkey primary key (topic_id, partition_id, from_offset),
  constraint segment_range_valid check (from_offset between 1 and to_offset)
);

-- Logs whose newest segment became half full and whose next one was not created yet.
create table gapless.segment_due (
  topic_id integer not null,
  partition_id integer not null,
  constraint segment_due_pkey primary key (topic_id, partition_id)
);

-- Where a trimmed log starts; a partition without a row starts at 1.
create table gapless.log_start (
  topic_id integer not null references gapless.topic,
  partition_id integer not null,
  earliest bigint not null,
  constraint log_start_pkey primary key (topic_id, partition_id)
);

create table gapless.publish_key (
  topic_id integer not null references gapless.topic,
  idempotency_key text collate "C" not null,
  fingerprint bytea not null,
  partitions integer[] not null,
  offsets bigint[] not null,
  expires_at timestamptz not null,
  constraint publish_key_pkey primary key (topic_id, idempotency_key),
  constraint publish_key_length_valid check (length(idempotency_key) between 1 and 255)
);
create index publish_key_expires_at on gapless.publish_key (expires_at);

-- Events published by transactions that have not reached their COMMIT.
create table gapless.staged_event (
  xid xid8 not null,
  seq bigint generated always as identity,
  topic_id integer not null,
  partition_id integer not null,
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
  data_bytes bytea,
  constraint staged_event_pkey primary key (xid, seq)
);

create table gapless.staged_transaction (
  xid xid8 not null,
  constraint staged_transaction_pkey primary key (xid)
);

create table gapless.incarnation (
  only_row boolean not null default true,
  id text not null,
  constraint incarnation_pkey primary key (only_row),
  constraint incarnation_only_row check (only_row)
);
insert into gapless.incarnation (id) values (gen_random_uuid()::text);

-- The body is replaced by functions/sequence_staged.sql; a trigger needs its function to exist.
create function gapless.sequence_staged() returns trigger language plpgsql as $$
begin
  raise exception 'gapless.sequence_staged is not installed';
end
$$;

create constraint trigger sequence_at_commit
  after insert on gapless.staged_transaction
  deferrable initially deferred
  for each row execute function gapless.sequence_staged();
