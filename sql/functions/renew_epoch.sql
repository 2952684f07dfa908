/*
 * Gives the logs a new epoch and returns it, for restores that gapless.epoch cannot notice by itself.
 */
create or replace function gapless.renew_epoch()
returns text
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update gapless.incarnation set id = gen_random_uuid()::text;
  return gapless.epoch();
end
$$;
