-- After leases were recorded and counted: fails when a client has more than its limit now (0: none), because another replica granted
-- some since read_usage. The batch then runs again. clients: those whose leases these are, no others: one that is above its limit
-- already must not fail the leases of others. granted: how many leases of this batch; open_max: all at once.
CREATE OR REPLACE FUNCTION fairway.use_leases(clients text[], granted bigint[], open_max bigint[], per_second bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    moment timestamptz;
BEGIN
    PERFORM fairway.lock_usage(clients);
    moment := clock_timestamp();
    UPDATE fairway.client_usage u
        SET busy_until = CASE WHEN u.busy_until BETWEEN moment AND moment + interval '1 second' THEN u.busy_until ELSE moment END
            + n.granted * interval '1 second' / n.per_second
        FROM unnest(clients, granted, per_second) n (client, granted, per_second)
        CROSS JOIN LATERAL (SELECT c.ctid AS place FROM fairway.client_usage c
            WHERE c.client BETWEEN n.client AND n.client ORDER BY c.client DESC LIMIT 1) newest
        WHERE u.ctid = newest.place AND n.per_second > 0;
    IF EXISTS (SELECT FROM unnest(clients, open_max, per_second) n (client, open_max, per_second)
        CROSS JOIN LATERAL (SELECT * FROM fairway.client_usage c
            WHERE c.client BETWEEN n.client AND n.client ORDER BY c.client DESC LIMIT 1) u
        WHERE (n.open_max > 0 AND u.open_leases > n.open_max)
            OR (n.per_second > 0 AND u.busy_until > moment + interval '1 second'))
    THEN
        RAISE serialization_failure USING MESSAGE = 'another replica has granted leases up to the limit of a client';
    END IF;
END $$;
