/*
 * Names this incarnation of the logs: 12 characters that change when offsets may have been given anew.
 *
 * That is after a restore into another database or cluster, after point-in-time recovery and after a
 * failover (a new timeline), and by gapless.renew_epoch after a restore that leaves no such trace.
 */
create or replace function gapless.epoch()
returns text
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select left(encode(sha256(convert_to(concat_ws(
    ':',
    i.id,
    (select d.oid from pg_database d where d.datname = current_database()),
    (select c.system_identifier from pg_control_system() c),
    case
      when pg_is_in_recovery() then (select upper(to_hex(c.timeline_id)) from pg_control_checkpoint() c)
      else ltrim(left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), '0')
    end
  ), 'UTF8')), 'hex'), 12)
  from gapless.incarnation i
$$;
