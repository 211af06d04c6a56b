-- Records fee bumps, as record_fee_bumps() does. One with an envelope is a bid: it is sent from now on, for as long as its lease is open. replaced: the
-- bid that it follows; NULL: the client submits. A raise changes nothing when another bid has taken that one's place meanwhile; a client's bid
-- counts when it has other signatures (inner_digests) or the one before was rejected, and its cap when it is higher. Both begin a round, and end a
-- rejection. So recording the same one twice changes nothing. Returns also whether a bid is the first of its lease, and the cursor when its bytes are
-- to be sent now (0: they are not).
CREATE OR REPLACE FUNCTION fairway.record_bids(hashes bytea[], leases bytea[], fees bigint[], sources text[], clients text[],
    bumps_max bigint[], stroops_max bigint[], replaced bytea[], inner_digests bytea[], max_fees bigint[], bid_envelopes bytea[])
RETURNS TABLE (ordinal bigint, refused_by text, is_first boolean, sent_ledger bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    places bigint[];
    refusals text[];
    item record;
BEGIN
    SELECT array_agg(r.ordinal), array_agg(r.refused_by) INTO places, refusals
        FROM fairway.record_fee_bumps(hashes, leases, fees, sources, clients, bumps_max, stroops_max, replaced) r;
    FOR item IN
        SELECT p.place, p.refusal, inner_digests[p.place] IS NOT NULL AND p.refusal IS NULL AS sends, replaced[p.place] AS replaces,
            max_fees[p.place] AS max_fee, a.lease_hash, a.lease_client, a.locked_at, c.sequence AS tip
        FROM unnest(places, refusals) p (place, refusal)
        CROSS JOIN LATERAL fairway.newest_account(sources[p.place]) a
        CROSS JOIN fairway.cursor c
        ORDER BY p.place
    LOOP
        ordinal := item.place;
        refused_by := item.refusal;
        is_first := item.sends AND NOT EXISTS (SELECT FROM fairway.submissions s WHERE s.lease_hash = item.lease_hash);
        sent_ledger := 0;
        IF item.sends THEN
            INSERT INTO fairway.submissions AS s (lease_hash, client, granted_at, inner_digest, max_fee, stroops_max, bid, bid_hash, round_ledger,
                    due_ledger)
                VALUES (item.lease_hash, item.lease_client, item.locked_at, inner_digests[ordinal], item.max_fee, stroops_max[ordinal],
                    fees[ordinal], hashes[ordinal], item.tip, item.tip + 1)
                ON CONFLICT ON CONSTRAINT submissions_pkey DO UPDATE SET inner_digest = EXCLUDED.inner_digest, bid = EXCLUDED.bid, asked = NULL,
                    max_fee = CASE WHEN item.replaces IS NULL THEN greatest(s.max_fee, EXCLUDED.max_fee) ELSE s.max_fee END,
                    stroops_max = EXCLUDED.stroops_max, bid_hash = EXCLUDED.bid_hash, round_ledger = EXCLUDED.round_ledger,
                    due_ledger = EXCLUDED.due_ledger, rejected = NULL
                WHERE CASE WHEN item.replaces IS NULL THEN EXCLUDED.inner_digest <> s.inner_digest OR s.rejected IS NOT NULL
                    ELSE s.bid_hash = item.replaces END;
            IF FOUND THEN
                sent_ledger := item.tip;
                INSERT INTO fairway.bids AS b (lease_hash, envelope) VALUES (item.lease_hash, bid_envelopes[ordinal])
                    ON CONFLICT ON CONSTRAINT bids_pkey DO UPDATE SET envelope = EXCLUDED.envelope;
            ELSIF item.replaces IS NULL THEN
                UPDATE fairway.submissions s SET max_fee = item.max_fee WHERE s.lease_hash = item.lease_hash AND item.max_fee > s.max_fee;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
