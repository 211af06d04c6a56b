-- Deletes old ledgers, but not the cursor's, among the first `most` of them, and returns how many. They are so few that each step begins at the first.
CREATE OR REPLACE FUNCTION fairway.drop_ledgers(keep interval, most bigint) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH old AS MATERIALIZED (SELECT l.sequence, l.committed_at FROM fairway.ledgers l ORDER BY l.sequence LIMIT most),
    dropped AS (
        DELETE FROM fairway.ledgers d WHERE d.sequence = ANY (ARRAY(
            SELECT o.sequence FROM old o WHERE o.committed_at < statement_timestamp() - keep
                AND o.sequence < (SELECT c.sequence FROM fairway.cursor c))) RETURNING 1)
    SELECT count(*) FROM dropped
$$;
