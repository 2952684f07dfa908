/*
 * Raises GP003 unless these are 1 to 100 scopes: verb[:topic-pattern[/group-pattern]], where a pattern is
 * a name, the beginning of one with * behind it, or *.
 */
create or replace function gapless.check_scopes(p_scopes text[])
returns void
language plpgsql
immutable
as $$
declare
  v_pattern constant text := '([a-z0-9][a-z0-9._-]{0,199}\*?|\*)';
  v_wrong text;
begin
  if cardinality(p_scopes) is null or cardinality(p_scopes) not between 1 and 100 then
    raise exception using
      errcode = 'GP003', message = 'there must be 1 to 100 scopes', detail = '{"field":"scopes"}';
  end if;
  select s into v_wrong
  from unnest(p_scopes) s
  where s is null or s !~ format(
    '^(metrics|(publish|subscribe|admin)(:%1$s)?|consume(:%1$s(/%1$s)?)?)$', v_pattern
  )
  limit 1;
  if found then
    raise exception using
      errcode = 'GP003',
      message = format('"%s" is not a scope', left(coalesce(v_wrong, 'null'), 250)),
      detail = '{"field":"scopes"}',
      hint = 'A scope is verb[:topic-pattern[/group-pattern]], such as publish:orders.* or consume:orders.*/billing.';
  end if;
end
$$;
