-- What is due after the last committed ledger, at most `most` rows: they are due again after the next one. Rows that another claim has locked
-- are skipped, so each is claimed once in a ledger. The oldest come first. Rows that have been due since before `since`, or for more ledgers than any
-- lease lasts, are not looked for, so that old versions, which pile up under an old snapshot, cost little. Nor those due after `until`: when ledgers
-- close while one claim follows the other, what was claimed first would be claimed again before the rest. earlier: the bids before one that nodes
-- have refused.
CREATE OR REPLACE FUNCTION fairway.claim_submissions(most bigint, lasts bigint, since bigint, until bigint)
RETURNS TABLE (hash bytea, owner text, bid_hash bytea, bid_envelope bytea, round bigint, tip bigint, asks bigint, earlier bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    at constant bigint := (SELECT c.sequence FROM fairway.cursor c);
    due constant bytea[] := ARRAY(SELECT o.lease_hash FROM fairway.submissions o
        WHERE o.due_ledger BETWEEN greatest(since, at - lasts) AND least(at, until) AND o.rejected IS NULL
        ORDER BY o.due_ledger LIMIT most FOR UPDATE SKIP LOCKED);
BEGIN
    -- A statement of its own: its snapshot is later than the locks, so bid_hash and envelope are of one bid.
    RETURN QUERY
        UPDATE fairway.submissions s SET due_ledger = at + 1 WHERE s.lease_hash = ANY (due)
            RETURNING s.lease_hash, s.client, s.bid_hash,
                (SELECT b.envelope FROM fairway.bids b WHERE b.lease_hash = s.lease_hash), s.round_ledger, at, coalesce(s.asked, 0),
                (SELECT string_agg(int8send(f.fee), '') FROM fairway.fee_bumps f
                    WHERE s.asked IS NOT NULL AND f.granted_at = s.granted_at AND f.lease_hash = s.lease_hash AND f.hash <> s.bid_hash);
END $$;
