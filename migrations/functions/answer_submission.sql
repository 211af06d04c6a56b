-- What the answers to this bid mean, while it is the submission's: it is rejected with this result, and those who wait are told; or nodes ask for
-- a higher fee; or, without either, nobody has answered, and it is due at once. A row that is locked is skipped: several are answered in one
-- transaction, in no order.
CREATE OR REPLACE FUNCTION fairway.answer_submission(lease bytea, sent bytea, result bytea, asks bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH answered AS (
        UPDATE fairway.submissions s SET rejected = result, asked = coalesce(asks, s.asked),
            due_ledger = least(s.due_ledger, CASE WHEN result IS NULL AND asks IS NULL THEN c.sequence END)
        FROM fairway.cursor c WHERE s.lease_hash = (SELECT o.lease_hash FROM fairway.submissions o
            WHERE o.lease_hash = lease AND o.bid_hash = sent AND o.rejected IS NULL FOR UPDATE SKIP LOCKED)
        RETURNING 1)
    SELECT pg_notify('fairway_pool', '') FROM answered WHERE result IS NOT NULL
$$;
