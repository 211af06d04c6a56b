-- Makes the rows of these clients that are missing, then locks all of them. Both in the order of their names: whoever waits for a new row
-- holds no lock on a committed one. A new row is not visible to others before COMMIT, and only those who make it too wait for it.
CREATE OR REPLACE FUNCTION fairway.lock_clients(clients text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO fairway.client_usage (client)
        SELECT n FROM unnest(clients) n
        WHERE (SELECT u.client FROM fairway.client_usage u WHERE u.client BETWEEN n AND n ORDER BY u.client DESC LIMIT 1) IS NULL
        ORDER BY n
        ON CONFLICT DO NOTHING;
    PERFORM fairway.lock_usage(clients);
END $$;
