/*
 * What sessions and tickets have in common: returns when the key that one hangs on ends, null for never or
 * without a key. The key is held until the caller commits, so that a revocation either comes first or finds
 * what hangs on it. Raises GP003 unless p_hash, told as p_field, is a SHA-256 and p_name names an actor,
 * GP018 where the key was revoked or has expired.
 */
create or replace function gapless.check_derived(p_field text, p_hash bytea, p_name text, p_key_id integer)
returns timestamptz
language plpgsql
as $$
declare
  v_ends_at timestamptz;
begin
  if octet_length(p_hash) is distinct from 32 then
    raise exception using
      errcode = 'GP003',
      message = 'a token is stored as its SHA-256, 32 bytes',
      detail = jsonb_build_object('field', p_field)::text;
  end if;
  if length(p_name) not between 1 and 250 or p_name is null then
    raise exception using
      errcode = 'GP003', message = 'an actor is named by 1 to 250 characters', detail = '{"field":"name"}';
  end if;
  if p_key_id is null then
    return null;
  end if;
  select k.expires_at into v_ends_at
  from gapless.api_key k
  where k.key_id = p_key_id and k.revoked_at is null
  for share;
  if not found or v_ends_at <= gapless.clock() then
    raise exception using errcode = 'GP018', message = 'the key was revoked or has expired';
  end if;
  return v_ends_at;
end
$$;
