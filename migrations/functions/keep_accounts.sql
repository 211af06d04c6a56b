-- Trigger: no row of an account is deleted. Whoever says that the account is gone may be wrong; then nothing is lost.
CREATE OR REPLACE FUNCTION fairway.keep_accounts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE integrity_constraint_violation
        USING MESSAGE = 'rows of channel accounts are never deleted: they hold the only copy of a key',
            HINT = 'fairway accounts retire';
END $$;
