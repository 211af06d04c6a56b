-- Locks the rows of these clients in fairway.client_fees until COMMIT, one after the other as lock_clients(). The names differ and are in order;
-- a client that never had a limit of stroops has no row.
CREATE OR REPLACE FUNCTION fairway.lock_fees(names text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY names LOOP
        PERFORM FROM fairway.client_fees f WHERE f.client BETWEEN name AND name ORDER BY f.client DESC LIMIT 1 FOR UPDATE;
    END LOOP;
END $$;
