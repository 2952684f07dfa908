/*
 * What gapless.schema_migration has, for roles that may touch no table: the service compares it with its files.
 */
create or replace function gapless.applied_migrations()
returns table (version integer, name text, sha256 text)
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$ select m.version, m.name, m.sha256 from gapless.schema_migration m $$;
