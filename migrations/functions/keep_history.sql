-- Trigger: no row of history is changed or deleted.
CREATE OR REPLACE FUNCTION fairway.keep_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE integrity_constraint_violation
        USING MESSAGE = format('rows of fairway.%I are never changed or deleted', TG_TABLE_NAME),
            HINT = 'Housekeeping drops the partitions that are older than LEASE_RETENTION_DAYS.';
END $$;
