/*
 * Uses a ticket up and returns what it is for; nothing for one that is unknown, used, late, or whose key
 * ended. seconds_left is how long what it opens may last, null for as long as its key.
 *
 * Of two who redeem it at once, the one that deletes the row gets it.
 */
create or replace function gapless.redeem_ticket(p_ticket_hash bytea)
returns table (key_id integer, name text, topics text[], subscription text, seconds_left double precision)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_now timestamptz := gapless.clock();
  v_ticket gapless.stream_ticket;
  v_key gapless.api_key;
begin
  delete from gapless.stream_ticket t where t.ticket_hash = p_ticket_hash returning * into v_ticket;
  if not found or v_ticket.expires_at <= v_now or v_ticket.ends_at <= v_now then
    return;
  end if;
  if v_ticket.key_id is not null then
    select * into v_key from gapless.api_key k where k.key_id = v_ticket.key_id and k.revoked_at is null;
    if not found or v_key.expires_at <= v_now then
      return;
    end if;
  end if;
  return query
  select
    v_ticket.key_id, v_ticket.name, v_ticket.topics, v_ticket.subscription,
    extract(epoch from least(v_ticket.ends_at, v_key.expires_at) - v_now)::double precision;
end
$$;
