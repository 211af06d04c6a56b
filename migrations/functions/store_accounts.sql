-- Inserts accounts that the network has, with their sequence numbers as of at_ledger, or (NULL) those that are to be created, in the lowest free
-- slots, and returns whether. Ledgers up to at_ledger do not change them. So it must not be before the last committed one: then, and before the
-- first one, nothing is inserted. Nothing is inserted either while grants are stopped: ledgers may be missing. The cursor is locked against
-- ledgers until COMMIT. The provisioning lock excludes every other writer of slots. No function that the serving role may call changes a seed
-- afterwards.
CREATE OR REPLACE FUNCTION fairway.store_accounts(keys text[], seeds bytea[], key_ids text[], sequences bigint[], at_ledger bigint)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF at_ledger IS NOT NULL THEN
        PERFORM FROM fairway.cursor c WHERE c.grants_allowed AND c.sequence <= at_ledger FOR SHARE;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        PERFORM fairway.note(keys, 'imported', NULL);
    END IF;
    INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, state, sequence, sequence_ledger)
    SELECT k.public_key, s.slot, k.seed, k.key_id, CASE WHEN at_ledger IS NULL THEN 'creating' ELSE 'active' END,
        k.sequence, at_ledger
    FROM unnest(keys, seeds, key_ids, sequences) WITH ORDINALITY AS k (public_key, seed, key_id, sequence, ordinal)
    JOIN (SELECT n AS slot, row_number() OVER (ORDER BY n) AS ordinal
        FROM generate_series(0, (SELECT coalesce(max(a.slot), -1) FROM fairway.channel_accounts a) + cardinality(keys)) n
        WHERE NOT EXISTS (SELECT FROM fairway.channel_accounts b WHERE b.slot = n)) s USING (ordinal);
    RETURN true;
END $$;
