-- Records what is sent from now on: bids that were recorded as fee bumps in the same transaction, which has locked their accounts; others are
-- passed over. raised: the bid that this one follows; NULL: the client submits. A raise changes nothing when the client has submitted
-- something else meanwhile; a client's bid counts when it is higher or has other signatures, and its cap when it is higher. Both begin a round, and
-- end a rejection. So recording the same one twice changes nothing. Returns for each whether it is the first of its lease, and the cursor when
-- its bytes are to be sent now (0: they are not). Items without an envelope are fee bumps that the client sends.
CREATE OR REPLACE FUNCTION fairway.record_submissions(leases bytea[], sources text[], envelopes bytea[], max_fees bigint[], bids bigint[],
    bid_hashes bytea[], bid_envelopes bytea[], raised bytea[])
RETURNS TABLE (ordinal bigint, is_first boolean, sent_ledger bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT n.*, a.lease_client, a.locked_at, c.sequence AS tip
        FROM unnest(leases, sources, envelopes, max_fees, bids, bid_hashes, bid_envelopes, raised) WITH ORDINALITY
            AS n (lease, source, envelope, max_fee, bid, bid_hash, bid_envelope, raises, place)
        CROSS JOIN LATERAL fairway.newest_account(n.source) a
        CROSS JOIN fairway.cursor c
        WHERE n.envelope IS NOT NULL AND a.lease_hash = n.lease
            AND EXISTS (SELECT FROM fairway.fee_bumps b WHERE b.hash = n.bid_hash AND b.granted_at = a.locked_at)
        ORDER BY n.place
    LOOP
        ordinal := item.place;
        is_first := NOT EXISTS (SELECT FROM fairway.submissions s WHERE s.lease_hash = item.lease);
        INSERT INTO fairway.submissions AS s (lease_hash, account, client, granted_at, envelope, max_fee, bid, bid_hash,
                bid_envelope, round_ledger, due_ledger)
            VALUES (item.lease, item.source, item.lease_client, item.locked_at, item.envelope,
                nullif(item.max_fee, 0), item.bid, item.bid_hash, item.bid_envelope, item.tip, item.tip + 1)
            ON CONFLICT ON CONSTRAINT submissions_pkey DO UPDATE SET envelope = EXCLUDED.envelope,
                max_fee = CASE WHEN item.raises IS NULL THEN coalesce(EXCLUDED.max_fee, s.max_fee) ELSE s.max_fee END, bid = EXCLUDED.bid,
                bid_hash = EXCLUDED.bid_hash, bid_envelope = EXCLUDED.bid_envelope, round_ledger = EXCLUDED.round_ledger,
                due_ledger = EXCLUDED.due_ledger, rejected = NULL
            WHERE CASE WHEN item.raises IS NULL THEN EXCLUDED.envelope <> s.envelope OR EXCLUDED.bid > s.bid
                ELSE s.bid_hash = item.raises END;
        sent_ledger := CASE WHEN FOUND THEN item.tip ELSE 0 END;
        IF sent_ledger = 0 AND item.raises IS NULL THEN
            UPDATE fairway.submissions s SET max_fee = item.max_fee, rejected = NULL
                WHERE s.lease_hash = item.lease AND item.max_fee > coalesce(s.max_fee, s.bid);
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
