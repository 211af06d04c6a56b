-- The leases of these hashes, each the hash of a lease or of a fee bump; ordinal says which. Reads each partition.
CREATE OR REPLACE FUNCTION fairway.find_leases(hashes bytea[])
RETURNS TABLE (ordinal bigint, hash bytea, client text, account text, sequence bigint, max_time bigint, result text, result_code text,
    ledger bigint, granted_at timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT n.ordinal, l.hash, l.client, l.account, l.sequence, l.max_time, r.result, r.result_code, r.ledger, g.granted_at
    FROM fairway.find_grants(hashes) g
    JOIN unnest(hashes) WITH ORDINALITY n (hash, ordinal) ON n.hash = g.hash
    CROSS JOIN LATERAL (SELECT * FROM fairway.leases m
        WHERE fairway.hour_key(m.granted_at, m.hash) = fairway.hour_key(g.granted_at, g.lease_hash)
            AND m.hash = g.lease_hash AND m.granted_at = g.granted_at LIMIT 1) l
    LEFT JOIN LATERAL (SELECT * FROM fairway.lease_results e WHERE e.hash = g.lease_hash AND e.granted_at = g.granted_at LIMIT 1) r ON true
$$;
