-- Deletes what no longer counts: old reports of waiting requests, and claims that have expired; of each so many rows at most. Returns the larger number.
CREATE OR REPLACE FUNCTION fairway.forget(most bigint) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH reports AS (
        DELETE FROM fairway.waiting w WHERE w.ctid = ANY (ARRAY(SELECT o.ctid FROM fairway.waiting o
            WHERE o.seen_at < statement_timestamp() - interval '10 s' ORDER BY o.seen_at LIMIT most)) RETURNING 1
    ), claims AS (
        DELETE FROM fairway.lease_claims d WHERE d.ctid = ANY (ARRAY(SELECT o.ctid FROM fairway.lease_claims o
            WHERE o.expires_ledger < (SELECT c.sequence FROM fairway.cursor c) ORDER BY o.expires_ledger LIMIT most)) RETURNING 1)
    SELECT greatest((SELECT count(*) FROM reports), (SELECT count(*) FROM claims))
$$;
