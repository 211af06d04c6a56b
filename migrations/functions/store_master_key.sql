-- Does nothing when the key is stored already. At most one key may be there beside it: a rotation has two. The UPDATE lets stores follow each other, and
-- fails in a transaction that does not see the last one.
CREATE OR REPLACE FUNCTION fairway.store_master_key(key_id text, salt bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE fairway.master_keys m SET created_at = m.created_at;
    IF (SELECT count(*) FROM fairway.master_keys m WHERE m.key_id <> $1) > 1 THEN
        RAISE integrity_constraint_violation USING MESSAGE = 'a rotation to another master key has not ended';
    END IF;
    INSERT INTO fairway.master_keys (key_id, salt) VALUES ($1, $2) ON CONFLICT DO NOTHING;
END $$;
