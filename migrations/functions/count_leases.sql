-- Adds to the open leases of clients, one item for each lease, and one of contract_row() if it has one; '' is nobody. Whatever ends leases calls it
-- in the same transaction, after it has locked their accounts and shortly before COMMIT. With the rights of the caller: the role of `fairway serve`
-- cannot change the numbers by itself.
CREATE OR REPLACE FUNCTION fairway.count_leases(clients text[], change bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    names constant text[] := ARRAY(SELECT DISTINCT n FROM unnest(clients) n WHERE n <> '' ORDER BY n);
BEGIN
    PERFORM fairway.lock_clients(names);
    UPDATE fairway.client_usage u SET open_leases = u.open_leases + change * d.leases
        FROM (SELECT n AS client, count(*) AS leases FROM unnest(clients) n GROUP BY n) d
        CROSS JOIN LATERAL fairway.newest_client(d.client) c
        WHERE u.ctid = c.place;
    PERFORM fairway.forget_contracts(names);
END $$;
