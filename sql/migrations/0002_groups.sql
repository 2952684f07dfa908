/*
 * Consumer groups: subscriptions, what they are at, what they lease, retry and gave up, and retention.
 *
 * The hot tables are made so that nothing on a claim's or an ack's way walks dead rows, even while an
 * old transaction keeps vacuum from removing any: `consumer_offset` is appended to and read newest
 * first, and its newest row names the open leases, which are then fetched by key.
 */
alter table gapless.topic
  add column semantics text not null default 'pub_sub',
  add column retention_seconds bigint,
  add column max_retention_seconds bigint,
  add column max_bytes bigint,
  add constraint topic_semantics_valid check (semantics in ('pub_sub', 'queue')),
  add constraint topic_retention_seconds_valid check (retention_seconds between 0 and 315360000),
  add constraint topic_max_retention_seconds_valid check (max_retention_seconds between 1 and 315360000),
  add constraint topic_max_bytes_valid check (max_bytes between 1 and 9007199254740991);

drop function if exists gapless.create_topic(text, integer, text, bigint, integer);
drop function if exists gapless.check_topic_settings(integer, text, bigint, integer);

create table gapless.subscription (
  subscription_id integer generated always as identity primary key,
  topic_id integer not null references gapless.topic,
  name text collate "C" not null,
  status text not null default 'ACTIVE',
  reason text,
  start jsonb not null,
  ordering text not null,
  on_dead_letter text not null,
  delivery text not null,
  lease_seconds double precision not null,
  max_attempts integer not null,
  backoff_seconds double precision not null,
  max_backoff_seconds double precision not null,
  max_in_flight integer,
  heartbeat_seconds double precision not null,
  heartbeat_timeout_seconds double precision,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  status_at timestamptz not null,
  -- Revivals lately, which make the next death come later; see functions/revive.sql.
  revivals integer not null default 0,
  revived_at timestamptz,
  constraint subscription_name_valid check (name ~ '^[a-z0-9][a-z0-9._-]{0,199}$'),
  constraint subscription_status_valid check (status in ('ACTIVE', 'PAUSED', 'CANCELLED', 'DEAD')),
  constraint subscription_reason_valid check (length(reason) <= 1000),
  constraint subscription_ordering_valid check (ordering in ('partition', 'key', 'none')),
  constraint subscription_on_dead_letter_valid check (on_dead_letter in ('block', 'continue')),
  constraint subscription_block_is_ordered check (on_dead_letter = 'continue' or ordering <> 'none'),
  constraint subscription_delivery_valid check (delivery in ('at_least_once', 'at_most_once')),
  constraint subscription_lease_seconds_valid check (lease_seconds between 0.1 and 43200),
  constraint subscription_max_attempts_valid check (max_attempts between 1 and 1000),
  constraint subscription_backoff_seconds_valid check (backoff_seconds between 0 and 86400),
  constraint subscription_max_backoff_seconds_valid check (max_backoff_seconds between backoff_seconds and 86400),
  constraint subscription_max_in_flight_valid check (max_in_flight between 1 and 1000000),
  constraint subscription_heartbeat_seconds_valid check (heartbeat_seconds between 0.1 and 86400),
  constraint subscription_heartbeat_timeout_seconds_valid
    check (heartbeat_timeout_seconds between heartbeat_seconds and 31536000)
);
create unique index subscription_name on gapless.subscription (topic_id, name);

-- When a group was last heard of, null for never; written a few times per heartbeat_seconds at most.
create table gapless.heartbeat (
  subscription_id integer not null references gapless.subscription on delete cascade,
  beat_at timestamptz,
  constraint heartbeat_pkey primary key (subscription_id)
) with (fillfactor = 50);

/*
 * What a group is at in one partition; the row with the highest seq is true, older ones go later.
 * In every row: position - counted_from = acked + dead + skipped + in_flight + retrying, in events; dead are
 * the dead letters that were not redriven, also those discarded.
 */
create table gapless.consumer_offset (
  subscription_id integer not null,
  partition_id integer not null,
  seq bigint not null,
  position bigint not null,
  counted_from bigint not null,
  -- Where delivery began, at first or by the last seek; counted_from lies before it by the dead letters that a
  -- seek kept.
  started_from bigint not null,
  acked bigint not null,
  dead bigint not null,
  skipped bigint not null,
  in_flight bigint not null,
  retrying bigint not null,
  -- The open leases, in the order of their claims, and the number of the next one.
  leases bigint[] not null,
  next_lease bigint not null,
  changed_at timestamptz not null,
  constraint consumer_offset_pkey primary key (subscription_id, partition_id, seq)
);

create table gapless.lease (
  subscription_id integer not null,
  partition_id integer not null,
  lease_id bigint not null,
  secret text not null,
  member text not null,
  request_id text,
  -- What the lease covers still, and which of it is acked; what was nacked leaves items for failed.
  items int8multirange not null,
  acked int8multirange not null default '{}',
  failed int8multirange not null default '{}',
  -- How many events are in items, and whether rows of retry_event carry the number of this lease.
  events bigint not null,
  retries boolean not null,
  attempt integer not null,
  keys text[],
  claimed_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  outcome text,
  constraint lease_pkey primary key (subscription_id, partition_id, lease_id),
  constraint lease_outcome_valid check (outcome in ('acked', 'failed', 'rejected', 'expired', 'released', 'fenced'))
) with (fillfactor = 70);

-- Failed events that wait for another delivery: runs of whole transactions with one history.
create table gapless.retry_event (
  subscription_id integer not null,
  partition_id integer not null,
  from_offset bigint not null,
  to_offset bigint not null,
  attempts integer not null,
  due_at timestamptz not null,
  keys text[],
  -- Bytes, where they are known without reading the events.
  size bigint,
  errors jsonb not null default '[]',
  -- Its payload may be in dead_letter only.
  redriven boolean not null default false,
  -- Set while the run is leased again; it is what keeps the history of its failures until then.
  lease_id bigint,
  constraint retry_event_pkey primary key (subscription_id, partition_id, from_offset),
  constraint retry_event_range_valid check (from_offset between 1 and to_offset)
);

create index retry_event_due on gapless.retry_event (subscription_id, partition_id, due_at) where lease_id is null;

create table gapless.dead_letter (
  dead_letter_id bigint generated always as identity primary key,
  subscription_id integer not null references gapless.subscription on delete cascade,
  partition_id integer not null,
  log_offset bigint not null,
  -- The transaction that it belongs to; both its own offset for an event that stands alone.
  from_offset bigint not null,
  to_offset bigint not null,
  status text not null,
  attempts integer not null,
  reason text not null,
  errors jsonb not null,
  dead_at timestamptz not null,
  updated_at timestamptz not null,
  topic_id integer not null,
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
  data_bytes bytea,
  constraint dead_letter_event unique (subscription_id, partition_id, log_offset),
  constraint dead_letter_status_valid check (status in ('dead', 'redriven', 'discarded'))
);
create index dead_letter_dead on gapless.dead_letter (subscription_id, partition_id, log_offset)
  where status = 'dead';
create index dead_letter_discarded on gapless.dead_letter (subscription_id, partition_id) where status = 'discarded';

create table gapless.audit_log (
  audit_id bigint generated always as identity primary key,
  at timestamptz not null,
  actor text not null,
  action text not null,
  topic text,
  subscription text,
  details jsonb not null
);
create index audit_log_subscription on gapless.audit_log (topic, subscription, audit_id);

-- How far old rows of consumer_offset and lease were removed, so that nobody looks for them twice,
-- and the leases up to there that were not over long enough.
create table gapless.swept (
  subscription_id integer not null,
  partition_id integer not null,
  seq bigint not null,
  lease_id bigint not null,
  passed bigint[] not null default '{}',
  constraint swept_pkey primary key (subscription_id, partition_id)
);

-- Detached segments and when; they are dropped once nobody can be reading them by name.
create table gapless.detached_segment (
  table_name text not null,
  detached_at timestamptz not null,
  constraint detached_segment_pkey primary key (table_name)
);

-- What retention found out about a log: before due_at nothing of it is old enough to go, and up to
-- the offset sized_to it is within max_bytes.
create table gapless.retention_check (
  topic_id integer not null,
  partition_id integer not null,
  due_at timestamptz not null,
  sized_to bigint not null,
  constraint retention_check_pkey primary key (topic_id, partition_id)
);

-- Bytes of a log up to an offset, noted every 1,000 events, for topics with max_bytes; they count from some offset on.
create table gapless.log_bytes (
  topic_id integer not null,
  partition_id integer not null,
  to_offset bigint not null,
  bytes bigint not null,
  constraint log_bytes_pkey primary key (topic_id, partition_id, to_offset)
);
