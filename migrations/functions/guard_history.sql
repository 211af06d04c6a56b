-- Makes the rows of a table of history unchangeable. A statement fires the triggers of the table that it names: so the partitions have one too.
CREATE OR REPLACE FUNCTION fairway.guard_history(of_table text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TRIGGER history_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON fairway.%I FOR EACH STATEMENT EXECUTE FUNCTION'
        ' fairway.keep_rows(''Housekeeping drops the partitions that are older than LEASE_RETENTION_DAYS.'')', of_table);
END $$;
