-- Trigger: no row is changed or deleted, but history by correct_ledger() and append_ledger(). The argument says what to do instead.
CREATE OR REPLACE FUNCTION fairway.keep_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('fairway.correcting', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE integrity_constraint_violation USING MESSAGE = format('fairway.%I refuses %s', TG_TABLE_NAME, TG_OP), HINT = TG_ARGV[0];
END $$;
