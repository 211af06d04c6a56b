-- What the answers to this bid mean, while it is the submission's: it is rejected with this result, and those who wait are told; or, without a
-- result, there was no room for it, and its round of so many ledgers ends with the next one; or, of no ledgers, nobody has answered, and it is due
-- at once. A row that is locked is skipped: several are answered in one transaction, in no order.
CREATE OR REPLACE FUNCTION fairway.answer_submission(lease bytea, sent bytea, result bytea, ledgers bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH answered AS (
        UPDATE fairway.submissions s SET rejected = result, due_ledger = least(s.due_ledger, CASE WHEN ledgers = 0 THEN c.sequence END),
            round_ledger = least(s.round_ledger, CASE WHEN result IS NULL AND ledgers > 0 THEN c.sequence + 1 - ledgers END)
        FROM fairway.cursor c WHERE s.lease_hash = (SELECT o.lease_hash FROM fairway.submissions o
            WHERE o.lease_hash = lease AND o.bid_hash = sent AND o.rejected IS NULL FOR UPDATE SKIP LOCKED)
        RETURNING 1)
    SELECT pg_notify('fairway_pool', '') FROM answered WHERE result IS NOT NULL
$$;
