-- Records the first bids of leases that the same transaction has recorded; items without a hash, and those whose lease is not recorded, are passed
-- over. They are sent from now on, for as long as their leases are open. When a limit forbids one, its client has spent since the batch read what
-- it may, and the whole transaction is rolled back. inner_digests: of what the bids bump.
CREATE OR REPLACE FUNCTION fairway.record_first_bids(hashes bytea[], leases bytea[], fees bigint[], sources text[], clients text[],
    stroops_max bigint[], inner_digests bytea[], max_fees bigint[], envelopes bytea[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF 0 < ANY (stroops_max) AND EXISTS (SELECT FROM fairway.record_fee_bumps(hashes, leases, fees, sources, clients, NULL, stroops_max) r
        WHERE r.refused_by IS NOT NULL)
    THEN
        RAISE serialization_failure USING MESSAGE = 'a client has spent what a bid needs';
    END IF;
    WITH news AS MATERIALIZED (
        SELECT n.*, a.locked_at, c.sequence AS tip
        FROM unnest(hashes, leases, fees, sources, clients, stroops_max, inner_digests, max_fees, envelopes)
            AS n (hash, lease_hash, fee, source, client, day_max, inner_digest, max_fee, envelope)
        CROSS JOIN LATERAL fairway.newest_account(n.source) a CROSS JOIN fairway.cursor c
        WHERE n.hash IS NOT NULL AND a.lease_hash = n.lease_hash
    ), recorded AS (
        INSERT INTO fairway.fee_bumps (hash, lease_hash, granted_at, fee)
        SELECT n.hash, n.lease_hash, n.locked_at, n.fee FROM news n WHERE NOT 0 < ANY (stroops_max)
    ), stored AS (
        INSERT INTO fairway.bids (lease_hash, envelope) SELECT n.lease_hash, n.envelope FROM news n
    )
    INSERT INTO fairway.submissions (lease_hash, client, granted_at, inner_digest, max_fee, stroops_max, bid, bid_hash, round_ledger, due_ledger)
        SELECT n.lease_hash, n.client, n.locked_at, n.inner_digest, n.max_fee, n.day_max, n.fee, n.hash, n.tip, n.tip + 1 FROM news n;
END $$;
