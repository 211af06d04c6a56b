-- Replaces the last committed ledger by one with the same transactions and other results, which the network has in its place, and what it said of
-- the leases that it ended (hashes: of the transactions that consumed a sequence number). Readers of ends get the corrected ones again
-- with the next ledger, after its own. Claims that a false failure freed stay free: the simulation of their call finds the nonce used. Begins a new
-- term of the caller. corrected: how many were wrong. When more than results differ (another set or close time, a lease that should have ended or
-- not, one that was superseded, or a transaction of ensure-accounts), it changes no end, and quarantines the accounts of the leases that the ledger
-- has ended. Neither number: the term is over, or another ledger is the last one.
CREATE OR REPLACE FUNCTION fairway.correct_ledger(my_term bigint, refuted bigint, true_hash bytea, closed bigint, true_protocol integer, transactions integer,
    hashes bytea[], codes text[], ledger_hashes bytea[], result_xdrs bytea[], return_values bytea[], OUT corrected bigint, OUT quarantined bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    since timestamptz; -- no lease lives for an hour
    keys text[];
BEGIN
    SELECT least(clock_timestamp(), to_timestamp(c.close_time)) - interval '1 hour' INTO since FROM fairway.cursor c
        WHERE c.term = my_term AND c.sequence = refuted FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM fairway.ledgers g WHERE g.sequence = refuted AND (g.close_time, g.transaction_count) <> (closed, transactions))
            OR EXISTS (SELECT FROM fairway.lease_results r WHERE r.granted_at > since AND r.ledger = refuted
                AND (r.result = 'superseded' OR (r.result = 'expired') = (r.hash = ANY (hashes))))
            OR EXISTS (SELECT FROM fairway.channel_accounts a WHERE a.lease_hash = ANY (hashes))
            OR EXISTS (SELECT FROM fairway.provisioning p WHERE p.ledger = refuted) THEN
        keys := ARRAY(SELECT DISTINCT l.account FROM fairway.lease_results r JOIN fairway.leases l
            ON fairway.hour_key(l.granted_at, l.hash) = fairway.hour_key(r.granted_at, r.hash) AND l.granted_at = r.granted_at
            WHERE r.ledger = refuted AND r.granted_at > since AND l.granted_at > since);
        PERFORM fairway.lock_accounts(keys);
        PERFORM fairway.quarantine_accounts(keys, 'a ledger that ended its lease was not the network''s');
        quarantined := cardinality(keys);
        RETURN;
    END IF;
    UPDATE fairway.ledgers g SET hash = true_hash, protocol = true_protocol WHERE g.sequence = refuted;
    UPDATE fairway.cursor SET hash = true_hash, term = term + 1; -- by which other replicas tell it from a database that was set back
    PERFORM set_config('fairway.correcting', 'on', true); -- for keep_rows(), until COMMIT
    -- Some move to the next ledger, so each of them has its client, as lease_results_of_client wants it.
    UPDATE fairway.lease_results r SET client = (SELECT l.client FROM fairway.leases l WHERE l.granted_at = r.granted_at AND l.hash = r.hash
            AND fairway.hour_key(l.granted_at, l.hash) = fairway.hour_key(r.granted_at, r.hash) LIMIT 1)
        WHERE r.granted_at > since AND refuted IN (r.ledger, r.ended_ledger) AND r.client IS NULL;
    UPDATE fairway.lease_results r SET result = CASE n.code WHEN 'txSUCCESS' THEN 'confirmed' ELSE 'failed' END, result_code = n.code,
        ledger_hash = n.ledger_hash, result_xdr = n.result_xdr, return_value = n.return_value,
        ended_ledger = refuted + 1, place = r.place | 1073741824
        FROM unnest(hashes, codes, ledger_hashes, result_xdrs, return_values) n (hash, code, ledger_hash, result_xdr, return_value)
        WHERE r.hash = n.hash AND r.granted_at > since AND r.ledger = refuted
            AND (r.result_code, r.ledger_hash, r.result_xdr) IS DISTINCT FROM (n.code, n.ledger_hash, n.result_xdr);
    GET DIAGNOSTICS corrected = ROW_COUNT;
    DELETE FROM fairway.lease_claims c USING unnest(hashes, codes) n (hash, code) WHERE c.lease_hash = n.hash AND n.code <> 'txSUCCESS';
END $$;
