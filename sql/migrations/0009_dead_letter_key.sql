/*
 * For gapless.dead_keys: a claim of a blocking group in key ordering read all dead letters of its partition. A hash, as
 * a key that SQL published may be longer than an index takes, and of all that is asked for, see there.
 */
create index dead_letter_key on gapless.dead_letter (
  hashtextextended(case status when 'dead' then key end, (subscription_id::bigint << 16) + partition_id), log_offset
) where key is not null;
