-- A request that carries an Idempotency-Key and a token that does not name it has two keys: the token's hash is the second. It is
-- recorded after the lease, or when a retry with another token has found the lease. Leases from before 0010 get none.
CREATE OR REPLACE FUNCTION fairway.record_token_keys(clients text[], keys text[], digests bytea[], hashes bytea[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO fairway.idempotency_keys (client, key, digest, lease_hash, granted_at)
        SELECT n.client, n.key, n.digest, l.hash, l.granted_at
        FROM fairway.find_grants(hashes) g
        JOIN unnest(clients, keys, digests, hashes) AS n (client, key, digest, hash) ON n.hash = g.hash
        CROSS JOIN LATERAL (SELECT m.hash, m.granted_at FROM fairway.leases m
            WHERE fairway.hour_key(m.granted_at, m.hash) = fairway.hour_key(g.granted_at, g.lease_hash)
                AND m.hash = g.lease_hash AND m.granted_at = g.granted_at
            LIMIT 1) l;
END $$;
