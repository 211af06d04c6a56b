-- Records fee bumps, as record_fee_bumps() does. One with an envelope is a bid: it is sent from now on, for as long as its lease is open. raised: the
-- bid that it follows; NULL: the client submits. A raise changes nothing when the client has submitted something else meanwhile; a client's bid
-- counts when it is higher or has other signatures, and its cap when it is higher. Both begin a round, and end a rejection. So recording the same one
-- twice changes nothing. Returns also whether a bid is the first of its lease, and the cursor when its bytes are to be sent now (0: they are not).
-- bumps_max NULL: the bids of leases that the same transaction has recorded. When a limit forbids one, its client has spent since the batch read what
-- it may, and the whole transaction is rolled back.
CREATE OR REPLACE FUNCTION fairway.record_bids(hashes bytea[], leases bytea[], fees bigint[], sources text[], clients text[],
    bumps_max bigint[], stroops_max bigint[], envelopes bytea[], max_fees bigint[], bid_envelopes bytea[], raised bytea[])
RETURNS TABLE (ordinal bigint, refused_by text, is_first boolean, sent_ledger bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    places bigint[];
    refusals text[];
    item record;
BEGIN
    -- A raise is never refused by a limit, but counts, because settle_fees() takes the highest fee bump from what was counted.
    stroops_max := ARRAY(SELECT CASE WHEN n.raises IS NULL OR NOT EXISTS (SELECT FROM fairway.client_fees f
                WHERE f.client BETWEEN n.client AND n.client) THEN n.most ELSE 9223372036854775807 END
        FROM unnest(clients, stroops_max, raised) WITH ORDINALITY AS n (client, most, raises, place) ORDER BY n.place);
    SELECT array_agg(r.ordinal), array_agg(r.refused_by) INTO places, refusals
        FROM fairway.record_fee_bumps(hashes, leases, fees, sources, clients, bumps_max, stroops_max) r;
    IF bumps_max IS NULL AND array_remove(refusals, NULL) <> '{}' THEN
        RAISE serialization_failure USING MESSAGE = 'a client has spent what a bid needs';
    END IF;
    FOR item IN
        SELECT p.place, p.refusal, envelopes[p.place] IS NOT NULL AND p.refusal IS NULL AS sends, raised[p.place] AS raises,
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
            INSERT INTO fairway.submissions AS s (lease_hash, account, client, granted_at, envelope, max_fee, bid, bid_hash,
                    bid_envelope, round_ledger, due_ledger)
                VALUES (item.lease_hash, sources[ordinal], item.lease_client, item.locked_at, envelopes[ordinal],
                    nullif(item.max_fee, 0), fees[ordinal], hashes[ordinal], bid_envelopes[ordinal], item.tip, item.tip + 1)
                ON CONFLICT ON CONSTRAINT submissions_pkey DO UPDATE SET envelope = EXCLUDED.envelope,
                    max_fee = CASE WHEN item.raises IS NULL THEN coalesce(EXCLUDED.max_fee, s.max_fee) ELSE s.max_fee END, bid = EXCLUDED.bid,
                    bid_hash = EXCLUDED.bid_hash, bid_envelope = EXCLUDED.bid_envelope, round_ledger = EXCLUDED.round_ledger,
                    due_ledger = EXCLUDED.due_ledger, rejected = NULL
                WHERE CASE WHEN item.raises IS NULL THEN EXCLUDED.envelope <> s.envelope OR EXCLUDED.bid > s.bid
                    ELSE s.bid_hash = item.raises END;
            sent_ledger := CASE WHEN FOUND THEN item.tip ELSE 0 END;
            IF sent_ledger = 0 AND item.raises IS NULL THEN
                UPDATE fairway.submissions s SET max_fee = item.max_fee, rejected = NULL
                    WHERE s.lease_hash = item.lease_hash AND item.max_fee > coalesce(s.max_fee, s.bid);
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
