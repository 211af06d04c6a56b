-- Deletes those of these rows that count leases by contract and are at 0. The names differ. The caller has locked the rows and those of their
-- clients, so nobody waits for one that is deleted.
CREATE OR REPLACE FUNCTION fairway.forget_contracts(names text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM fairway.client_usage u USING unnest(names) n CROSS JOIN LATERAL fairway.newest_client(n) c
        WHERE n LIKE fairway.contract_row('%', '%') AND u.ctid = c.place AND c.open_leases = 0;
END $$;
