-- Leases that have ended count with the fee that was charged (NULL: not known), no longer with their highest fee bump. Only what was counted on the
-- day of the client's row is corrected: what a fee bump added to that of an earlier day. One item for each lease. The caller has locked the accounts,
-- so no fee bump of these leases is recorded meanwhile, and has the rights (count_leases).
CREATE OR REPLACE FUNCTION fairway.settle_fees(clients text[], leases bytea[], granted timestamptz[], charged bigint[]) RETURNS void
LANGUAGE plpgsql SET timezone = 'UTC' AS $$
DECLARE
    names constant text[] := ARRAY(SELECT d.client FROM (SELECT DISTINCT n AS client FROM unnest(clients) n) d
        WHERE EXISTS (SELECT FROM fairway.newest_fees(d.client)) ORDER BY d.client);
    first constant timestamptz := (SELECT min(n) FROM unnest(granted) n);
    last constant timestamptz := (SELECT max(n) FROM unnest(granted) n);
BEGIN
    IF names = '{}' THEN
        RETURN;
    END IF;
    PERFORM fairway.lock_fees(names);
    -- A statement of its own, as in lock_clients().
    UPDATE fairway.client_fees f SET stroops = greatest(f.stroops + d.change, 0)
        FROM (SELECT c.place, sum(least(greatest(n.charged, b.before) - b.highest, 0)) AS change
            FROM unnest(clients, leases, granted, charged) n (client, lease, granted_at, charged)
            CROSS JOIN LATERAL fairway.newest_fees(n.client) c
            CROSS JOIN LATERAL (SELECT max(m.fee) AS highest, coalesce(max(m.fee) FILTER (WHERE m.signed_at::date < c.day), 0) AS before
                FROM fairway.fee_bumps m
                WHERE m.granted_at = n.granted_at AND m.lease_hash = n.lease AND m.granted_at BETWEEN first AND last) b
            WHERE n.client = ANY (names) AND n.charged IS NOT NULL AND b.highest IS NOT NULL
            GROUP BY c.place) d
        WHERE f.ctid = d.place AND d.change <> 0;
END $$;
