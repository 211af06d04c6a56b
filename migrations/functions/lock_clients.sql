-- Locks the rows of these clients until COMMIT, and returns how many open leases each has. The names differ and are in order (ORDER BY). A row
-- that is missing is made. One after the other: whoever waits for a client holds none whose name is greater. What changes the rows afterwards
-- is a statement of its own: the places of the rows do not change any more.
CREATE OR REPLACE FUNCTION fairway.lock_clients(names text[]) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name text;
    leases bigint;
    found_leases bigint[] := '{}';
BEGIN
    FOREACH name IN ARRAY names LOOP
        LOOP
            SELECT u.open_leases INTO leases FROM fairway.client_usage u
                WHERE u.client BETWEEN name AND name ORDER BY u.client DESC LIMIT 1 FOR UPDATE;
            EXIT WHEN FOUND;
            INSERT INTO fairway.client_usage (client) VALUES (name) ON CONFLICT DO NOTHING; -- waits for whoever makes it too
        END LOOP;
        found_leases := found_leases || leases;
    END LOOP;
    RETURN found_leases;
END $$;
