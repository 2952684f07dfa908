/*
 * Removes idempotency keys past their time, at most p_limit in a call, and returns how many. Raises GP003 for a limit below 1.
 */
create or replace function gapless.expire_publish_keys(p_limit integer default 10000)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_expired integer;
begin
  perform gapless.check_limit(p_limit);
  delete from gapless.publish_key k
  where k.ctid = any (array(
    select c.ctid
    from gapless.publish_key c
    where c.expires_at <= gapless.clock()
    order by c.expires_at
    limit p_limit
    for update skip locked
  ));
  get diagnostics v_expired = row_count;
  return v_expired;
end
$$;
