/*
 * How many events a batch has; raises GP003 when it is none, when its arrays differ in length, or
 * when an event has not exactly one of data and data_bytes or a time that no client could read.
 */
create or replace function gapless.check_batch(
  p_data json[],
  p_data_bytes bytea[],
  p_keys text[],
  p_types text[],
  p_ids text[],
  p_sources text[],
  p_subjects text[],
  p_times timestamptz[],
  p_headers json[],
  p_datacontenttypes text[],
  p_transaction_ids text[]
)
returns integer
language plpgsql
immutable
as $$
declare
  v_count integer := coalesce(cardinality(p_data), cardinality(p_data_bytes), 0);
begin
  if v_count = 0 then
    raise exception using errcode = 'GP003', message = 'the batch is empty', detail = '{"field":"data"}';
  end if;
  if v_count <> any (array[
    coalesce(cardinality(p_data_bytes), v_count), coalesce(cardinality(p_keys), v_count),
    coalesce(cardinality(p_types), v_count), coalesce(cardinality(p_ids), v_count),
    coalesce(cardinality(p_sources), v_count), coalesce(cardinality(p_subjects), v_count),
    coalesce(cardinality(p_times), v_count), coalesce(cardinality(p_headers), v_count),
    coalesce(cardinality(p_datacontenttypes), v_count), coalesce(cardinality(p_transaction_ids), v_count)
  ]) then
    raise exception using
      errcode = 'GP003', message = 'the arrays of a batch must be equally long', detail = '{"field":"data"}';
  end if;
  if exists (
    select from (select unnest(p_data) as data, unnest(p_data_bytes) as data_bytes) e
    where num_nonnulls(e.data, e.data_bytes) <> 1
  ) then
    raise exception using
      errcode = 'GP003', message = 'each event has either data or data_bytes', detail = '{"field":"data"}';
  end if;
  if p_times is not null then
    perform gapless.check_times(p_times);
  end if;
  return v_count;
end
$$;
