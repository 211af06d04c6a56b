-- Keeps open_leases, whatever statement grants or ends leases. Rows are locked in the order of their clients, after all accounts, and
-- until COMMIT, which follows at once.
CREATE OR REPLACE FUNCTION fairway.count_leases() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    clients text[];
    changes bigint[];
BEGIN
    PERFORM FROM fairway.client_usage u ORDER BY u.client DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(s.client), array_agg(s.n) INTO clients, changes FROM (
        SELECT d.client, sum(d.n) AS n FROM (
            SELECT b.lease_client, -1 FROM before b WHERE b.lease_client IS NOT NULL
            UNION ALL
            SELECT c.lease_client, 1 FROM changed c WHERE c.lease_client IS NOT NULL) d (client, n)
        GROUP BY d.client HAVING sum(d.n) <> 0) s;
    IF clients IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM fairway.lock_usage(clients);
    UPDATE fairway.client_usage u SET open_leases = u.open_leases + d.n
        FROM unnest(clients, changes) d (client, n)
        CROSS JOIN LATERAL (SELECT c.ctid AS place FROM fairway.client_usage c
            WHERE c.client BETWEEN d.client AND d.client ORDER BY c.client DESC LIMIT 1) newest
        WHERE u.ctid = newest.place;
    RETURN NULL;
END $$;
