-- Inserts a ledger and moves the cursor to it, or makes the cursor. It resumes grants that were stopped for a gap (gap_reason), and sets the end of
-- the hold (0: grants are not on hold). Returns by how many seconds the database's clock is ahead of the ledger's close time. The caller has locked
-- the cursor; a later ledger and the caller's own term are checked again.
CREATE OR REPLACE FUNCTION fairway.append_ledger(ledger bigint, ledger_hash bytea, previous bytea, ledger_protocol integer, closed bigint,
    transactions integer, my_term bigint, hold_until bigint, gap_reason text, operation_total integer, operations_max integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO fairway.ledgers (sequence, hash, previous_hash, protocol, close_time, transaction_count, settled_count,
            operations, max_operations)
        VALUES (ledger, ledger_hash, previous, ledger_protocol, closed, transactions, 0, operation_total, operations_max);
    UPDATE fairway.cursor c SET sequence = ledger, hash = ledger_hash, close_time = closed,
        grants_allowed = c.grants_allowed OR c.grants_reason = gap_reason, grants_reason = nullif(c.grants_reason, gap_reason),
        hold_reason = CASE WHEN hold_until <> 0 THEN c.hold_reason END, held_until = nullif(hold_until, 0)
        WHERE c.term = my_term AND c.sequence < ledger AND c.close_time <= closed;
    IF NOT FOUND THEN
        INSERT INTO fairway.cursor (sequence, hash, close_time, term) VALUES (ledger, ledger_hash, closed, my_term);
    END IF;
    RETURN (SELECT floor(extract(epoch FROM clock_timestamp()))::bigint - c.close_time FROM fairway.cursor c);
END $$;
