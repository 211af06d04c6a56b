-- Inserts new accounts, in the lowest free slots, and returns how many. No function that the serving role may call changes a seed afterwards.
CREATE OR REPLACE FUNCTION fairway.store_accounts(keys text[], seeds bytea[], key_ids text[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH stored AS (
        INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, state)
        SELECT fairway.valid_address(k.public_key), s.slot, k.seed, k.key_id, 'creating'
        FROM unnest(keys, seeds, key_ids) WITH ORDINALITY AS k (public_key, seed, key_id, ordinal)
        JOIN fairway.free_slots(cardinality(keys)) s USING (ordinal)
        RETURNING 1)
    SELECT count(*) FROM stored
$$;
