-- Locks the cursor for a ledger transaction. No row: no ledger is committed yet.
CREATE OR REPLACE FUNCTION fairway.lock_cursor()
RETURNS TABLE (sequence bigint, term bigint, held_until bigint, clock bigint, same_database boolean)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.sequence, c.term, coalesce(c.held_until, 0), floor(extract(epoch FROM clock_timestamp()))::bigint,
        fairway.same_database(c.tableoid, c.system_identifier, c.timeline, c.home)
    FROM fairway.cursor c FOR UPDATE
$$;
