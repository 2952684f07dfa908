/*
 * Who may call the service: API keys, sessions of browsers, and tickets for streams.
 *
 * A token is never stored, only its SHA-256: 256 random bits need no salt and no slow hash. A key that
 * was revoked stays as a row, for the audit log refers to it by name, and frees the name. A session
 * goes with the key that it was opened with, a ticket with its key or session.
 */
create table gapless.api_key (
  key_id integer generated always as identity primary key,
  kind text not null,
  parent_id integer references gapless.api_key on delete cascade,
  -- Of a key what people call it; of a session the actor that it stands for.
  name text collate "C" not null,
  token_hash bytea not null,
  scopes text[] not null,
  created_at timestamptz not null,
  created_by text not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  constraint api_key_token_hash unique (token_hash),
  constraint api_key_kind_valid check (kind in ('key', 'session')),
  constraint api_key_parent_valid check (kind = 'session' or parent_id is null),
  constraint api_key_session_ends check (kind = 'key' or expires_at is not null),
  constraint api_key_token_hash_valid check (octet_length(token_hash) = 32)
);
create unique index api_key_name_active on gapless.api_key (name) where kind = 'key' and revoked_at is null;
create index api_key_parent_id on gapless.api_key (parent_id) where parent_id is not null;
create index api_key_session_expires_at on gapless.api_key (expires_at) where kind = 'session';

create table gapless.stream_ticket (
  ticket_hash bytea not null,
  key_id integer references gapless.api_key on delete cascade,
  name text not null,
  topics text[] not null,
  subscription text,
  -- Until when it may be redeemed, and when what it opened must end.
  expires_at timestamptz not null,
  ends_at timestamptz,
  constraint stream_ticket_pkey primary key (ticket_hash),
  constraint stream_ticket_hash_valid check (octet_length(ticket_hash) = 32)
);
create index stream_ticket_key_id on gapless.stream_ticket (key_id);
create index stream_ticket_expires_at on gapless.stream_ticket (expires_at);

-- These take who asks, or what may be seen, from now on; a new database never had them as they were.
drop function if exists gapless.create_topic(text, integer, text, bigint, integer, text, bigint, bigint, bigint);
drop function if exists gapless.alter_topic(text, jsonb);
drop function if exists gapless.delete_topic(text);
drop function if exists gapless.trim(text, integer, bigint);
drop function if exists gapless.list_topics(text, integer);
drop function if exists gapless.list_subscriptions(text, text, integer);
