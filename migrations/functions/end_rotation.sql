-- Forgets the old seals and the master keys that no seed needs any more. Fails unless every seed is sealed under this one. Runs with the rights of
-- its caller, as reseal_accounts does.
CREATE OR REPLACE FUNCTION fairway.end_rotation(current_key_id text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM fairway.channel_accounts a WHERE a.key_id <> current_key_id) THEN
        RAISE integrity_constraint_violation USING MESSAGE = 'seeds are still sealed under another master key';
    END IF;
    DELETE FROM fairway.old_seals;
    PERFORM fairway.note(NULL, 'the master key was replaced', NULL);
    DELETE FROM fairway.master_keys m WHERE m.key_id <> current_key_id;
END $$;
