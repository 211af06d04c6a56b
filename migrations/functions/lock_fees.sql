-- Locks the rows of these clients in fairway.client_fees until COMMIT, in this order, as lock_clients(): the names differ and are in order. A row
-- that is missing is made before others are locked.
CREATE OR REPLACE FUNCTION fairway.lock_fees(names text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO fairway.client_fees (client, day, stroops) SELECT n, clock_timestamp()::date, 0 FROM unnest(names) n
        WHERE NOT EXISTS (SELECT FROM fairway.newest_fees(n)) ON CONFLICT DO NOTHING; -- waits for whoever makes it too
    PERFORM FROM unnest(names) n CROSS JOIN LATERAL (
        SELECT FROM fairway.client_fees f WHERE f.client BETWEEN n AND n ORDER BY f.client DESC LIMIT 1 FOR UPDATE) l;
END $$;
