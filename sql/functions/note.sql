/*
 * Adds to what the running transaction did of a kind, for whoever called: current_setting('gapless.noted_' ||
 * p_what, true) in the same statement, null or empty for nothing. It ends with the transaction and is never stored.
 *
 * So each caller counts what it did itself, once; what is rolled back is not counted by anybody.
 */
create or replace function gapless.note(p_what text, p_count bigint)
returns void
language plpgsql
as $$
declare
  v_name text := 'gapless.noted_' || p_what;
  v_noted text;
begin
  if p_count > 0 then
    v_noted := set_config(
      v_name, (coalesce(nullif(current_setting(v_name, true), ''), '0')::bigint + p_count)::text, true
    );
  end if;
end
$$;
