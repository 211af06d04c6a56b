-- Pauses grants for this reason until an operator ends it; NULL: ends it. Returns whether they were paused; no row: no ledger is committed yet.
CREATE OR REPLACE FUNCTION fairway.pause_grants(reason text) RETURNS TABLE (was_paused boolean)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE fairway.cursor c SET paused = reason FROM (SELECT b.paused IS NOT NULL AS paused FROM fairway.cursor b FOR UPDATE) before
    RETURNING before.paused
$$;
