-- Adds to the open leases of clients, which may be named more than once; '' is nobody. Whatever begins or ends leases calls it in the same
-- transaction, after it has locked its accounts and shortly before COMMIT. With the rights of the caller: the role of `fairway serve` cannot
-- change the numbers by itself.
CREATE OR REPLACE FUNCTION fairway.count_leases(clients text[], changes bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM fairway.lock_clients(clients);
    UPDATE fairway.client_usage u SET open_leases = u.open_leases + d.change
        FROM (SELECT n.client, sum(n.change) AS change FROM unnest(clients, changes) n (client, change) GROUP BY n.client) d
        CROSS JOIN LATERAL fairway.newest_client(d.client) c
        WHERE u.ctid = c.place;
END $$;
