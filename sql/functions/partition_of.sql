/*
 * The partition of a key: the same for the life of a topic, in 0 .. partitions - 1.
 *
 * PostgreSQL keeps this hash stable across versions, as hash-partitioned tables depend on it. The
 * sign bit is masked off rather than passed to abs(), which overflows for the smallest value.
 */
create or replace function gapless.partition_of(p_key text, p_partitions integer)
returns integer
language sql
immutable
parallel safe
as $$ select ((hashtextextended(p_key collate "C", 0) & 9223372036854775807) % p_partitions)::integer $$;
