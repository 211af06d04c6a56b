-- Inserts new accounts, in the lowest free slots, and returns how many. The provisioning lock excludes every other writer of slots, so the free ones
-- stay free until COMMIT. No function changes a seed afterwards.
CREATE OR REPLACE FUNCTION fairway.store_accounts(keys text[], seeds bytea[], key_ids text[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH stored AS (
        INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, state)
        SELECT k.public_key, s.slot, k.seed, k.key_id, 'creating'
        FROM unnest(keys, seeds, key_ids) WITH ORDINALITY AS k (public_key, seed, key_id, ordinal)
        JOIN (SELECT n AS slot, row_number() OVER (ORDER BY n) AS ordinal
            FROM generate_series(0, (SELECT coalesce(max(a.slot), -1) FROM fairway.channel_accounts a) + cardinality(keys)) n
            WHERE NOT EXISTS (SELECT FROM fairway.channel_accounts b WHERE b.slot = n)) s USING (ordinal)
        RETURNING 1)
    SELECT count(*) FROM stored
$$;
