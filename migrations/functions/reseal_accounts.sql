-- Replaces the sealed seeds of these accounts, if they still are old_seeds, by the same seeds sealed under another master key, and returns how many.
-- The first old one of each is kept until end_rotation. Runs with the rights of its caller, unlike the other functions: only the owner of the tables
-- may change a seed, so the role of serve cannot.
CREATE OR REPLACE FUNCTION fairway.reseal_accounts(keys text[], old_seeds bytea[], seeds bytea[], new_key_id text) RETURNS bigint
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    WITH locked AS MATERIALIZED (
        SELECT a.public_key, a.sealed_seed, a.key_id, k.seed FROM unnest(keys, old_seeds, seeds) AS k (public_key, old, seed)
        JOIN fairway.channel_accounts a ON a.public_key = k.public_key AND a.sealed_seed = k.old
        ORDER BY a.public_key FOR UPDATE OF a
    ), kept AS (
        INSERT INTO fairway.old_seals (public_key, sealed_seed, key_id)
        SELECT l.public_key, l.sealed_seed, l.key_id FROM locked l ON CONFLICT DO NOTHING
    ), replaced AS (
        UPDATE fairway.channel_accounts b SET sealed_seed = l.seed, key_id = new_key_id FROM locked l WHERE b.public_key = l.public_key
        RETURNING 1)
    SELECT count(*) FROM replaced
$$;
