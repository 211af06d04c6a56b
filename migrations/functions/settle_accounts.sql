-- Writes what a ledger changes of these accounts, which lock_accounts() has locked: their states, and the ends of their open leases (result NULL:
-- the lease, if any, goes on). sequence_ledger 0: the sequence number is not known yet. fee 0: none is known. A lease expires only by a committed ledger, or the one that
-- this transaction commits, that excludes all later ones: this does not depend on the caller.
CREATE OR REPLACE FUNCTION fairway.settle_accounts(keys text[], states text[], sequences bigint[], sequence_ledgers bigint[], reasons text[],
    results text[], codes text[], ledgers bigint[], ledger_hashes bytea[], fees bigint[], result_xdrs bytea[], return_values bytea[])
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM unnest(keys, results, ledgers) n (public_key, result, ledger)
        CROSS JOIN LATERAL fairway.newest_account(n.public_key) a
        WHERE n.result = 'expired' AND NOT EXISTS (SELECT FROM fairway.ledgers g WHERE g.sequence = n.ledger
            AND (g.close_time > a.lease_max_time OR a.lease_max_ledger <= g.sequence + 1)))
    THEN
        RAISE integrity_constraint_violation USING MESSAGE = 'no committed ledger excludes the lease that is said to have expired';
    END IF;
    PERFORM fairway.count_leases(array_agg(a.lease_client) ||
                array_agg(fairway.contract_row(a.lease_client, a.lease_contract)) FILTER (WHERE a.lease_contract IS NOT NULL), -1),
            fairway.settle_fees(array_agg(a.lease_client), array_agg(a.lease_hash), array_agg(a.locked_at),
                array_agg(CASE WHEN n.result IN ('expired', 'superseded') THEN 0 ELSE nullif(n.fee, 0) END))
        FROM unnest(keys, results, fees) n (public_key, result, fee)
        CROSS JOIN LATERAL fairway.newest_account(n.public_key) a
        WHERE n.result IS NOT NULL;
    PERFORM fairway.note(array_agg(n.public_key), 'quarantined', n.reason) FROM unnest(keys, states, reasons) n (public_key, state, reason)
        CROSS JOIN LATERAL fairway.newest_account(n.public_key) a
        WHERE n.state = 'quarantined' AND a.state <> 'quarantined' GROUP BY n.reason;
    WITH news AS MATERIALIZED (
        SELECT n.*, a.place, a.lease_hash, a.lease_client, a.slot, a.locked_at
        FROM unnest(keys, states, sequences, sequence_ledgers, reasons, results, codes, ledgers, ledger_hashes, result_xdrs,
            return_values) AS n (public_key, state, sequence, sequence_ledger, reason, result, result_code, ledger, ledger_hash,
            result_xdr, return_value)
        CROSS JOIN LATERAL fairway.newest_account(n.public_key) a
    ), ended AS (
        INSERT INTO fairway.lease_results (hash, granted_at, result, result_code, ledger, ledger_hash, result_xdr,
            return_value, client, ended_ledger, place)
        SELECT n.lease_hash, n.locked_at, n.result, n.result_code, n.ledger, n.ledger_hash, n.result_xdr,
            n.return_value, CASE row_number() OVER (PARTITION BY n.locked_at, n.lease_client) WHEN 1 THEN n.lease_client END,
            (SELECT c.sequence FROM fairway.cursor c), n.slot FROM news n WHERE n.result IS NOT NULL
    ), sent AS (
        DELETE FROM fairway.submissions s USING news n WHERE s.lease_hash = n.lease_hash AND n.result IS NOT NULL RETURNING s.lease_hash
    ), bytes AS (
        DELETE FROM fairway.bids b USING sent s WHERE b.lease_hash = s.lease_hash
    ), freed AS (
        DELETE FROM fairway.lease_claims c USING news n WHERE c.lease_hash = n.lease_hash AND n.result IN ('failed', 'expired', 'superseded')
    )
    UPDATE fairway.channel_accounts a SET state = n.state,
        sequence = CASE n.sequence_ledger WHEN 0 THEN NULL ELSE n.sequence END,
        sequence_ledger = nullif(n.sequence_ledger, 0),
        slot = CASE n.state WHEN 'retired' THEN NULL ELSE a.slot END,
        quarantine_reason = CASE n.state WHEN 'quarantined' THEN coalesce(n.reason, a.quarantine_reason) END,
        (lease_hash, lease_client, lease_sequence, lease_max_time, lease_max_ledger, lease_contract, locked_at) =
            (SELECT a.lease_hash, a.lease_client, a.lease_sequence, a.lease_max_time, a.lease_max_ledger, a.lease_contract, a.locked_at
                WHERE n.result IS NULL)
        FROM news n WHERE a.ctid = n.place;
END $$;
