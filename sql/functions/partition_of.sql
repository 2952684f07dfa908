/*
 * The partition of a key: the same for the life of a topic, in 0 .. partitions - 1.
 *
 * PostgreSQL keeps this hash stable across versions, as hash-partitioned tables depend on it. The
 * sign bit is masked off rather than passed to abs(), which overflows for the smallest value.
 *
 * It runs under the search_path of its caller, and a path of its own would keep it from being inlined. So
 * types are cast to those of pg_catalog: an operator in public that fits as they are would come first.
 */
create or replace function gapless.partition_of(p_key text, p_partitions integer)
returns integer
language sql
immutable
parallel safe
as $$
  select (
    (pg_catalog.hashtextextended(p_key collate "C", 0::bigint) & 9223372036854775807) % p_partitions::bigint
  )::integer
$$;
