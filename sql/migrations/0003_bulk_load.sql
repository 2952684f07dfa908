/*
 * Bulk loads: what a job stages in chunks, from many sessions, until one transaction publishes all of it.
 *
 * A row is a whole chunk, its events as arrays, because that is how they come and how they go on
 * (functions/insert_events.sql). Rows are inserted and removed, never updated. There is no reference
 * to the topic: a task that outlives the topic may still stage, and what it leaves is swept by age.
 */
create table gapless.load_chunk (
  topic_id integer not null,
  load_id text collate "C" not null,
  task integer not null,
  attempt text collate "C" not null,
  chunk integer not null,
  staged_at timestamptz not null,
  logs integer[] not null,
  partitions integer[] not null,
  data json[],
  data_bytes bytea[],
  keys text[],
  types text[],
  ids text[],
  sources text[],
  subjects text[],
  times timestamptz[],
  headers json[],
  datacontenttypes text[],
  transaction_ids text[],
  constraint load_chunk_pkey primary key (topic_id, load_id, task, attempt, chunk)
);
create index load_chunk_staged_at on gapless.load_chunk (staged_at);

-- It is read once, minutes later: compressing it would cost more than it saves.
alter table gapless.load_chunk
  alter column partitions set storage external,
  alter column data set storage external,
  alter column data_bytes set storage external,
  alter column keys set storage external,
  alter column types set storage external,
  alter column ids set storage external,
  alter column sources set storage external,
  alter column subjects set storage external,
  alter column times set storage external,
  alter column headers set storage external,
  alter column datacontenttypes set storage external,
  alter column transaction_ids set storage external;

-- Of a batch of thousands these are large, and compressing them took a tenth of its publish.
alter table gapless.publish_key
  alter column partitions set storage external,
  alter column offsets set storage external;
