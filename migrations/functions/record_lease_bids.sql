-- Records the bids of leases that record_leases() has recorded in the same transaction, as fee bumps and submissions (record_bids); leases without
-- a bid, and those of others, are passed over. When a limit forbids a bid, the whole transaction is rolled back: its client has spent since the batch
-- read what it may.
CREATE OR REPLACE FUNCTION fairway.record_lease_bids(hashes bytea[], leases bytea[], fees bigint[], sources text[], clients text[],
    stroops_max bigint[], envelopes bytea[], max_fees bigint[], bid_envelopes bytea[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM fairway.record_bids(hashes, leases, fees, sources, clients,
            array_fill(0::bigint, ARRAY[cardinality(hashes)]), stroops_max, envelopes, max_fees, bid_envelopes,
            array_fill(NULL::bytea, ARRAY[cardinality(hashes)])) r WHERE r.refused_by IS NOT NULL)
    THEN
        RAISE serialization_failure USING MESSAGE = 'a client has spent what a bid needs';
    END IF;
END $$;
