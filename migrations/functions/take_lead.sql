-- Begins a new term, and returns the cursor. Once this is committed, no transaction of an earlier term commits a ledger. Waits for one that has
-- locked the cursor. No row: no ledger is committed yet, or the term is no longer `seen` (below 0: whichever it is).
CREATE OR REPLACE FUNCTION fairway.take_lead(seen bigint) RETURNS TABLE (sequence bigint, hash bytea, close_time bigint, term bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE fairway.cursor c SET term = c.term + 1 WHERE seen < 0 OR c.term = seen RETURNING c.sequence, c.hash, c.close_time, c.term
$$;
