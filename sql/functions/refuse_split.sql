/*
 * Raises GP008 for a transaction whose events cannot stay together.
 */
create or replace function gapless.refuse_split(p_transaction_id text)
returns void
language plpgsql
immutable
as $$
begin
  raise exception using
    errcode = 'GP008',
    message = format('the events of transaction "%s" are not adjacent, more than 10,000, or their keys lead to several partitions', p_transaction_id),
    detail = json_build_object('transaction_id', p_transaction_id)::text;
end
$$;
