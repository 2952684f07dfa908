/*
 * The log of each event of a batch, and a check that every transaction stays together.
 *
 * In this order: the partition asked for; the key; for an event without a key, the partition of its
 * transaction's keys, or of the transaction id; otherwise one partition per call, chosen at random.
 * Raises GP008 when the events of a transaction are not adjacent, more than 10,000, or their keys lead to
 * several partitions.
 */
create or replace function gapless.choose_partitions(
  p_partitions integer,
  p_partition integer,
  p_keys text[],
  p_transaction_ids text[],
  p_count integer
)
returns integer[]
language plpgsql
volatile
as $$
declare
  v_any integer := floor(random() * p_partitions);
  v_split text;
  v_chosen integer[];
begin
  if p_transaction_ids is not null then
    select t.transaction_id into v_split
    from unnest(p_transaction_ids, p_keys) with ordinality as t(transaction_id, key, place)
    where t.transaction_id is not null
    group by t.transaction_id
    having count(*) > 10000
      or max(t.place) - min(t.place) + 1 <> count(*)
      or (p_partition is null and count(distinct gapless.partition_of(t.key, p_partitions)) > 1)
    limit 1;
    if v_split is not null then
      perform gapless.refuse_split(v_split);
    end if;
  end if;
  if p_partition is not null or p_partitions = 1 then
    return array_fill(coalesce(p_partition, 0), array[p_count]);
  end if;
  if p_transaction_ids is null then
    if p_keys is null then
      return array_fill(v_any, array[p_count]);
    end if;
    return array(
      -- In the list, not in FROM: there it would be stored first.
      select coalesce(gapless.partition_of(k.key, p_partitions), v_any) from (select unnest(p_keys) as key) k
    );
  end if;
  select array_agg(
    coalesce(
      gapless.partition_of(e.key, p_partitions),
      case when e.transaction_id is not null then
        coalesce(e.of_transaction, gapless.partition_of(e.transaction_id, p_partitions))
      end,
      v_any
    )
    order by e.place
  )
  into v_chosen
  from (
    select t.*, max(gapless.partition_of(t.key, p_partitions)) over (partition by t.transaction_id) as of_transaction
    from unnest(p_transaction_ids, p_keys) with ordinality as t(transaction_id, key, place)
  ) e;
  return v_chosen;
end
$$;
