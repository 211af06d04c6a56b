-- Locks up to wanted idle accounts, from a random slot upwards, and then from the first. What it costs is that of the accounts that it
-- passes, and not that of the pool. keys: of the master keys that the caller has; empty: all.
-- One walk along the index of slots passes an account at the least cost, but it visits all its versions. So when the table has become
-- many times as large as its accounts, each slot is looked up by itself, and its account is locked by its place.
CREATE OR REPLACE FUNCTION fairway.claim_accounts(wanted bigint, keys text[])
RETURNS TABLE (public_key text, sequence bigint, sequence_ledger bigint, sealed_seed bytea, key_id text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    slots constant bigint := (SELECT max(a.slot) + 1 FROM fairway.channel_accounts a);
    walks constant boolean := pg_relation_size('fairway.channel_accounts') <= slots * 16384;
    at bigint := floor(random() * slots);
    passed bigint := 0;
    step bigint := CASE WHEN walks THEN slots ELSE 4 * wanted END;
    locked bigint;
BEGIN
    WHILE passed < slots LOOP
        step := least(step, slots - at, slots - passed);
        IF walks THEN
            RETURN QUERY
                SELECT a.public_key::text, a.sequence, a.sequence_ledger, a.sealed_seed, a.key_id FROM fairway.channel_accounts a
                WHERE a.slot BETWEEN at::integer AND (at + step - 1)::integer AND a.state = 'active' AND a.lease_hash IS NULL
                    AND (keys = '{}' OR a.key_id = ANY (keys))
                ORDER BY a.slot LIMIT wanted FOR UPDATE SKIP LOCKED;
        ELSE
            RETURN QUERY
                SELECT b.public_key::text, b.sequence, b.sequence_ledger, b.sealed_seed, b.key_id
                FROM generate_series(at::integer, (at + step - 1)::integer) n
                CROSS JOIN LATERAL (
                    SELECT a.ctid AS place FROM fairway.channel_accounts a WHERE a.slot BETWEEN n AND n ORDER BY a.slot DESC LIMIT 1) newest
                CROSS JOIN LATERAL (
                    SELECT * FROM fairway.channel_accounts c
                    WHERE c.ctid = newest.place AND c.state = 'active' AND c.lease_hash IS NULL AND (keys = '{}' OR c.key_id = ANY (keys))
                    FOR UPDATE SKIP LOCKED) b
                LIMIT wanted;
        END IF;
        GET DIAGNOSTICS locked = ROW_COUNT;
        EXIT WHEN locked = wanted;
        wanted := wanted - locked;
        passed := passed + step;
        at := (at + step) % slots;
        step := CASE WHEN walks THEN slots ELSE 4 * step END;
    END LOOP;
END $$;
