-- Writes what a ledger changes of these accounts, which lock_settling() has locked: their states, and the ends of their open leases (result NULL:
-- the lease, if any, goes on). sequence_ledger 0: the sequence number is not known yet. A lease expires only by a committed ledger, or the one that
-- this transaction commits, that excludes all later ones: this does not depend on the caller.
CREATE OR REPLACE FUNCTION fairway.settle_accounts(keys text[], states text[], sequences bigint[], sequence_ledgers bigint[], reasons text[],
    results text[], codes text[], ledgers bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wrong text;
BEGIN
    SELECT n.public_key INTO wrong FROM unnest(keys, results, ledgers) n (public_key, result, ledger)
        CROSS JOIN LATERAL fairway.newest_account(n.public_key) a
        WHERE n.result = 'expired' AND NOT EXISTS (SELECT FROM fairway.ledgers g WHERE g.sequence = n.ledger
            AND (g.close_time > a.lease_max_time OR a.lease_max_ledger <= g.sequence + 1))
        LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE integrity_constraint_violation USING MESSAGE = format('no committed ledger excludes the lease of account %s', wrong);
    END IF;
    PERFORM fairway.count_leases(array_agg(a.lease_client), -1) FROM unnest(keys, results) n (public_key, result)
        CROSS JOIN LATERAL fairway.newest_account(n.public_key) a
        WHERE n.result IS NOT NULL;
    WITH news AS MATERIALIZED (
        SELECT n.*, a.place, a.lease_hash, a.locked_at
        FROM unnest(keys, states, sequences, sequence_ledgers, reasons, results, codes, ledgers)
            AS n (public_key, state, sequence, sequence_ledger, reason, result, result_code, ledger)
        CROSS JOIN LATERAL fairway.newest_account(n.public_key) a
    ), ended AS (
        INSERT INTO fairway.lease_results (hash, granted_at, result, result_code, ledger)
        SELECT n.lease_hash, n.locked_at, n.result, n.result_code, n.ledger FROM news n WHERE n.result IS NOT NULL
    )
    UPDATE fairway.channel_accounts a SET state = n.state,
        sequence = CASE n.sequence_ledger WHEN 0 THEN NULL ELSE n.sequence END,
        sequence_ledger = nullif(n.sequence_ledger, 0),
        slot = CASE n.state WHEN 'retired' THEN NULL ELSE a.slot END,
        quarantine_reason = CASE n.state WHEN 'quarantined' THEN coalesce(n.reason, a.quarantine_reason) END,
        lease_hash = CASE WHEN n.result IS NULL THEN a.lease_hash END,
        lease_client = CASE WHEN n.result IS NULL THEN a.lease_client END,
        lease_sequence = CASE WHEN n.result IS NULL THEN a.lease_sequence END,
        lease_max_time = CASE WHEN n.result IS NULL THEN a.lease_max_time END,
        lease_max_ledger = CASE WHEN n.result IS NULL THEN a.lease_max_ledger END,
        locked_at = CASE WHEN n.result IS NULL THEN a.locked_at END,
        locked_until = CASE WHEN n.result IS NULL THEN a.locked_until END
        FROM news n WHERE a.ctid = n.place;
END $$;
