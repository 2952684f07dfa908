/*
 * Removes entries of the audit log that are older than p_seconds, at most p_limit in a call, the oldest first, and returns
 * how many. Nothing else removes any. Raises GP003 for a limit below 1, and for less than a day: what was done last cannot
 * be hidden by this.
 *
 * Looks at the oldest p_limit only, so that where none is old enough it does not matter how many there are;
 * a thousand entries that a clock running ahead has dated later hold up what comes after them until they are old themselves.
 */
create or replace function gapless.expire_audit(p_seconds bigint, p_limit integer default 1000)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_before timestamptz;
  v_to bigint;
  v_expired integer;
begin
  if p_seconds is null or p_seconds not between 86400 and 315360000 then
    raise exception using
      errcode = 'GP003', message = 'the audit log is kept for a day to ten years', detail = '{"field":"seconds"}';
  end if;
  perform gapless.check_limit(p_limit);
  v_before := gapless.clock() - make_interval(secs => p_seconds);
  v_to := (
    select max(o.audit_id)
    from (select l.audit_id, l.at from gapless.audit_log l order by l.audit_id limit p_limit) o
    where o.at < v_before
  );
  delete from gapless.audit_log a
  where a.audit_id = any (array(
    select l.audit_id
    from gapless.audit_log l
    where l.audit_id <= v_to and l.at < v_before
    order by l.audit_id
    for update skip locked
  ));
  get diagnostics v_expired = row_count;
  return v_expired;
end
$$;
