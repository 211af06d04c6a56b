-- Trigger: no row of history is changed or deleted, but by correct_ledger().
CREATE OR REPLACE FUNCTION fairway.keep_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('fairway.correcting', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE integrity_constraint_violation
        USING MESSAGE = format('rows of fairway.%I are never changed or deleted', TG_TABLE_NAME),
            HINT = 'Housekeeping drops the partitions that are older than LEASE_RETENTION_DAYS.';
END $$;
