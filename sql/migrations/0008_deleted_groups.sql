/*
 * Groups that were deleted and whose rows gapless.drop_deleted_topics has not removed yet. Those of a large group are
 * too many for one statement; so dead letters have no reference any more, which would take them along.
 */
create table gapless.deleted_subscription (
  subscription_id integer not null,
  deleted_at timestamptz not null,
  constraint deleted_subscription_pkey primary key (subscription_id)
);
alter table gapless.dead_letter drop constraint dead_letter_subscription_id_fkey;
