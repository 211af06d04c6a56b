-- The row of an account holds the only copy of its key. An account that is gone is retired; its row stays, because whoever says
-- that it is gone may be wrong: then nothing is lost (Z6).

CREATE FUNCTION fairway.keep_accounts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE integrity_constraint_violation
        USING MESSAGE = 'rows of channel accounts are never deleted: they hold the only copy of a key',
            HINT = 'fairway accounts retire';
END $$;
CREATE TRIGGER accounts_stay BEFORE DELETE OR TRUNCATE ON fairway.channel_accounts
    FOR EACH STATEMENT EXECUTE FUNCTION fairway.keep_accounts();
