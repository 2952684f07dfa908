/*
 * What a publish answers has two more columns, which a function cannot be given while it exists.
 */
drop function if exists gapless.publish(
  text, json[], text[], text[], text[], text[], text[], timestamptz[], json[], text[], text[], bytea[], integer, bigint,
  text, bytea
);
drop function if exists gapless.append_events(
  integer, integer[], json[], bytea[], text[], text[], text[], text[], text[], timestamptz[], json[], text[], text[],
  bigint
);
drop function if exists gapless.insert_events(
  integer, integer[], json[], bytea[], text[], text[], text[], text[], text[], timestamptz[], json[], text[], text[],
  bigint
);
