-- An open lease is the only record of a signed transaction that the network may still include. Without it the account would be
-- leased again for the same sequence number, so the database refuses to delete one. Settled leases are deleted by housekeeping.

CREATE FUNCTION fairway.keep_open_leases() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        RAISE integrity_constraint_violation
            USING MESSAGE = 'fairway.leases cannot be truncated: open leases would be lost',
                HINT = 'Delete settled leases only: DELETE FROM fairway.leases WHERE settled_at IS NOT NULL.';
    END IF;
    RAISE integrity_constraint_violation
        USING MESSAGE = format('lease %s of account %s is open and cannot be deleted', encode(OLD.hash, 'hex'), OLD.account),
            HINT = 'A lease ends when a ledger settles it. Run fairway serve, and delete the lease after that.';
END $$;
-- A BEFORE trigger would lock each row first and so write twice as much WAL for the deletion of settled leases.
CREATE TRIGGER open_leases_stay AFTER DELETE ON fairway.leases
    FOR EACH ROW WHEN (OLD.settled_at IS NULL) EXECUTE FUNCTION fairway.keep_open_leases();
CREATE TRIGGER leases_stay BEFORE TRUNCATE ON fairway.leases
    FOR EACH STATEMENT EXECUTE FUNCTION fairway.keep_open_leases();

-- How far housekeeping has come. It continues from here: the index entries of rows that it has deleted stay until vacuum removes
-- them, millions in a busy database, and each step would read them again. Rows before these times are not looked for any more; to
-- have them looked for again, delete this row.
CREATE TABLE fairway.housekeeping (
    only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    leases_to timestamptz NOT NULL DEFAULT '-infinity', -- leases that were settled before this have been deleted
    keys_to   timestamptz NOT NULL DEFAULT '-infinity'  -- leases that were granted before this have no idempotency key
);
