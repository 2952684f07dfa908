/*
 * A time as it stands in JSON: RFC 3339 in UTC, with as many digits of the second as matter, whatever the zone
 * of the session is.
 */
create or replace function gapless.format_time(p_time timestamptz)
returns text
language sql
stable
as $$
  select rtrim(rtrim(to_char(p_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'), '.') || 'Z'
$$;
