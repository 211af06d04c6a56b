-- The last statement of a ledger transaction: how many leases the ledger ended in each way (ledgers.ends), and, unless new_state is NULL, what
-- became of the submission, which is decided once. Every replica is notified, whose submissions are due.
CREATE OR REPLACE FUNCTION fairway.finish_ledger(ended bigint[], submission bigint, new_state text, code text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT pg_notify('fairway_pool', '');
    UPDATE fairway.ledgers g SET settled_count = n.total, ends = ended
        FROM fairway.cursor c, (SELECT sum(u.n) AS total FROM unnest(ended) u (n)) n WHERE g.sequence = c.sequence AND n.total > 0;
    UPDATE fairway.provisioning p SET state = new_state, result_code = code, ledger = c.sequence, decided_at = clock_timestamp()
        FROM fairway.cursor c WHERE p.id = submission AND p.state = 'pending' AND new_state IS NOT NULL
$$;
