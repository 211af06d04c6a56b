-- Deletes old ledgers, but not the cursor's, among the first `most` of them, and returns how many. They are so few that each step begins at the first.
CREATE OR REPLACE FUNCTION fairway.drop_ledgers(keep interval, most bigint) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH dropped AS (
        DELETE FROM fairway.ledgers d WHERE d.sequence = ANY (ARRAY(SELECT o.sequence FROM fairway.ledgers o ORDER BY o.sequence LIMIT most))
            AND d.committed_at < statement_timestamp() - keep AND d.sequence < (SELECT c.sequence FROM fairway.cursor c) RETURNING 1)
    SELECT count(*) FROM dropped
$$;
