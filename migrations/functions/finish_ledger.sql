-- The last statement of a ledger transaction: how many leases the ledger ended, and, unless new_state is NULL, what became of the submission, which
-- is decided once. Every replica is notified, whose submissions are due.
CREATE OR REPLACE FUNCTION fairway.finish_ledger(ended integer, submission bigint, new_state text, code text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT pg_notify('fairway_pool', '');
    UPDATE fairway.ledgers g SET settled_count = ended FROM fairway.cursor c WHERE g.sequence = c.sequence AND ended > 0;
    UPDATE fairway.provisioning p SET state = new_state, result_code = code, ledger = c.sequence, decided_at = clock_timestamp()
        FROM fairway.cursor c WHERE p.id = submission AND p.state = 'pending' AND new_state IS NOT NULL
$$;
