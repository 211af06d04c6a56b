-- Does nothing when the key is stored already. known: the keys that the caller has; no other may be there. At most one may be there beside this one:
-- a rotation has two. The lock lets stores follow each other, also the first ones; the UPDATE fails in a transaction that does not see the last one.
CREATE OR REPLACE FUNCTION fairway.store_master_key(key_id text, salt bytea, known text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    LOCK TABLE fairway.master_keys IN SHARE ROW EXCLUSIVE MODE;
    UPDATE fairway.master_keys m SET created_at = m.created_at;
    IF (SELECT count(*) > 1 OR bool_or(m.key_id <> ALL ($3)) FROM fairway.master_keys m WHERE m.key_id <> $1) THEN
        RAISE integrity_constraint_violation USING MESSAGE = 'a master key is stored that this process lacks, or a rotation to another has not ended';
    END IF;
    INSERT INTO fairway.master_keys (key_id, salt) VALUES ($1, $2) ON CONFLICT DO NOTHING;
END $$;
