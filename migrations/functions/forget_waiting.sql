-- Deletes old reports of waiting requests, so many rows at most. Returns their number.
CREATE OR REPLACE FUNCTION fairway.forget_waiting(most bigint) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH forgotten AS (
        DELETE FROM fairway.waiting w WHERE w.ctid = ANY (ARRAY(SELECT o.ctid FROM fairway.waiting o
            WHERE o.seen_at < statement_timestamp() - interval '10 s' ORDER BY o.seen_at LIMIT most)) RETURNING 1)
    SELECT count(*) FROM forgotten
$$;
