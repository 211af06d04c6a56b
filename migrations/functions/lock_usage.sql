-- Locks the rows of these clients, in order. What changes them afterwards is a statement of its own: its snapshot sees what every earlier
-- holder of the locks has committed, and the places of the rows do not change any more.
CREATE OR REPLACE FUNCTION fairway.lock_usage(clients text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM (SELECT DISTINCT n FROM unnest(clients) n ORDER BY n OFFSET 0) k
        CROSS JOIN LATERAL (SELECT FROM fairway.client_usage u
            WHERE u.client BETWEEN k.n AND k.n ORDER BY u.client DESC LIMIT 1 FOR UPDATE) l;
END $$;
