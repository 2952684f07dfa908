/*
 * The partition that a lease's token names; null for what is no token.
 */
create or replace function gapless.lease_partition(p_lease text)
returns integer
language sql
immutable
as $$ select case when p_lease ~ '^v1\.[0-9]{1,9}\.[0-9]{1,3}\.' then split_part(p_lease, '.', 3)::integer end $$;
