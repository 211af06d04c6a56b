-- Inserts a ledger and moves the cursor to it, or makes the cursor. It resumes grants that were stopped for a gap (gap_reason), and sets the end of
-- the hold (0: grants are not on hold). Returns by how many seconds the database's clock is ahead of the ledger's close time. The caller has locked
-- the cursor; the caller's own term is checked again, and that the ledger is a later one. One with a lower number closed later only when the number of the
-- last one was false: then nothing stays as of a ledger above it.
CREATE OR REPLACE FUNCTION fairway.append_ledger(ledger bigint, ledger_hash bytea, ledger_protocol integer, closed bigint,
    transactions integer, my_term bigint, hold_until bigint, gap_reason text, operation_total integer, operations_max integer,
    lane_prices bigint[] DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    false_time bigint;
BEGIN
    INSERT INTO fairway.ledgers (sequence, hash, protocol, close_time, transaction_count, operations, max_operations, prices)
        VALUES (ledger, ledger_hash, ledger_protocol, closed, transactions, operation_total, operations_max, lane_prices);
    UPDATE fairway.cursor c SET sequence = ledger, hash = ledger_hash, close_time = closed,
        grants_allowed = c.grants_allowed OR c.grants_reason = gap_reason, grants_reason = nullif(c.grants_reason, gap_reason),
        hold_reason = CASE WHEN hold_until <> 0 THEN c.hold_reason END, held_until = nullif(hold_until, 0),
        held_since = CASE WHEN hold_until <> 0 THEN c.held_since END
        WHERE c.term = my_term AND (c.sequence < ledger AND c.close_time <= closed OR c.close_time < closed);
    IF NOT FOUND THEN
        INSERT INTO fairway.cursor (sequence, hash, close_time, term) VALUES (ledger, ledger_hash, closed, my_term);
    END IF;
    SELECT min(g.close_time) INTO false_time FROM fairway.ledgers g WHERE g.sequence > ledger;
    IF false_time IS NOT NULL THEN -- nothing is as of ledgers above this one; no lease lives for an hour
        DELETE FROM fairway.ledgers g WHERE g.sequence > ledger;
        DELETE FROM fairway.funds;
        UPDATE fairway.channel_accounts a SET sequence_ledger = ledger - 1 WHERE a.sequence_ledger >= ledger;
        PERFORM set_config('fairway.correcting', 'on', true); -- for keep_rows(), until COMMIT
        UPDATE fairway.lease_results r SET ended_ledger = append_ledger.ledger, place = r.place | 1073741824
            WHERE r.granted_at > to_timestamp(false_time) - interval '1 hour' AND r.ended_ledger > append_ledger.ledger;
        UPDATE fairway.dropped_ends d SET ended_ledger = ledger - 1 WHERE d.ended_ledger >= ledger;
    END IF;
    RETURN (SELECT floor(extract(epoch FROM clock_timestamp()))::bigint - c.close_time FROM fairway.cursor c);
END $$;
