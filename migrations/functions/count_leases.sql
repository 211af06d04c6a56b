-- Adds to the open leases of clients, one item for each lease, and one of contract_row() if it has one; '' is nobody. Returns the rows that it has
-- locked, by their names, and how many open leases each had. Whatever records or ends leases calls it in the same transaction, after it has locked
-- their accounts and shortly before COMMIT. A row that counts by contract goes when it is at 0: nobody waits for it, because the row of its client
-- is locked before. With the rights of the caller: the role of `fairway serve` cannot change the numbers by itself.
CREATE OR REPLACE FUNCTION fairway.count_leases(clients text[], change bigint, OUT names text[], OUT open_leases bigint[])
LANGUAGE plpgsql AS $$
BEGIN
    names := ARRAY(SELECT DISTINCT n FROM unnest(clients) n WHERE n <> '' ORDER BY n);
    open_leases := fairway.lock_clients(names);
    UPDATE fairway.client_usage u SET open_leases = u.open_leases + change * d.leases
        FROM (SELECT n AS client, count(*) AS leases FROM unnest(clients) n GROUP BY n) d
        CROSS JOIN LATERAL fairway.newest_client(d.client) c
        WHERE u.ctid = c.place;
    IF change < 0 THEN
        DELETE FROM fairway.client_usage u USING unnest(names) n CROSS JOIN LATERAL fairway.newest_client(n) c
            WHERE n LIKE fairway.contract_row('%', '%') AND u.ctid = c.place AND c.open_leases = 0;
    END IF;
END $$;
