-- Makes the rows of these clients that are missing, then locks all of them until COMMIT; '' is nobody. Both in the order of their names:
-- whoever waits for a new row holds no lock on a committed one. A new row is not visible to others before COMMIT, and only those who make
-- it too wait for it. What reads or changes the rows afterwards is a statement of its own: its snapshot sees what every earlier holder of
-- the locks has committed, and the places of the rows do not change any more.
CREATE OR REPLACE FUNCTION fairway.lock_clients(clients text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO fairway.client_usage (client)
        SELECT DISTINCT n FROM unnest(clients) n
        WHERE n <> '' AND NOT EXISTS (SELECT FROM fairway.newest_client(n))
        ORDER BY n
        ON CONFLICT DO NOTHING;
    PERFORM FROM (SELECT DISTINCT n FROM unnest(clients) n WHERE n <> '' ORDER BY n OFFSET 0) k
        CROSS JOIN LATERAL (SELECT FROM fairway.client_usage u
            WHERE u.client BETWEEN k.n AND k.n ORDER BY u.client DESC LIMIT 1 FOR UPDATE) l;
END $$;
