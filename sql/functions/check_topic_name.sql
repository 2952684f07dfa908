/*
 * Raises GP009 unless the name fits the one rule that every route and function applies.
 */
create or replace function gapless.check_topic_name(p_topic text)
returns void
language plpgsql
immutable
as $$
begin
  if p_topic is null or p_topic !~ '^[a-z0-9][a-z0-9._-]{0,199}$' then
    raise exception using
      errcode = 'GP009',
      message = 'a topic name is 1 to 200 characters of a-z, 0-9, ".", "_", "-" and starts with a letter or digit';
  end if;
end
$$;
