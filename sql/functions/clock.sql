/*
 * The one source of time for everything that is stored, compared or expired.
 *
 * Tests replace this function to move time. It takes no setting, because a setting could be
 * changed by any publisher, and one event from the future would stop a log's time for good.
 */
create or replace function gapless.clock()
returns timestamptz
language sql
volatile
as $$ select pg_catalog.clock_timestamp() $$;
