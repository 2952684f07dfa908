/*
 * Raises GP015 unless the name fits the one rule that every route and function applies.
 */
create or replace function gapless.check_subscription_name(p_group text)
returns void
language plpgsql
immutable
as $$
begin
  if p_group is null or p_group !~ '^[a-z0-9][a-z0-9._-]{0,199}$' then
    raise exception using
      errcode = 'GP015',
      message = 'the name of a group is 1 to 200 characters of a-z, 0-9, ".", "_", "-" and starts with a letter or digit';
  end if;
end
$$;
