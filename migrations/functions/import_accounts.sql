-- Inserts accounts that the network has, with their sequence numbers as of at_ledger, in the lowest free slots, and returns how many. Ledgers up to
-- that one do not change them. So it must not be before the last committed one: then, and before the first one, nothing is inserted and 0 returned.
-- Nothing is inserted either while grants are stopped: ledgers may be missing. The cursor is locked against ledgers until COMMIT.
CREATE OR REPLACE FUNCTION fairway.import_accounts(keys text[], seeds bytea[], key_ids text[], sequences bigint[], at_ledger bigint)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    cursor_at constant bigint := (SELECT c.sequence FROM fairway.cursor c WHERE c.grants_allowed FOR SHARE);
    stored bigint;
BEGIN
    IF cursor_at IS NULL OR cursor_at > at_ledger THEN
        RETURN 0;
    END IF;
    INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, state, sequence, sequence_ledger)
    SELECT fairway.valid_address(k.public_key), s.slot, k.seed, k.key_id, 'active', k.sequence, at_ledger
    FROM unnest(keys, seeds, key_ids, sequences) WITH ORDINALITY AS k (public_key, seed, key_id, sequence, ordinal)
    JOIN fairway.free_slots(cardinality(keys)) s USING (ordinal);
    GET DIAGNOSTICS stored = ROW_COUNT;
    PERFORM fairway.note(keys, 'imported', NULL);
    RETURN stored;
END $$;
