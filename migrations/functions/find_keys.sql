-- The leases that were taken with these idempotency keys; ordinal says with which. Through the unique index leases_idempotency,
-- one row a key: the order that is asked for admits no other index. (An equality would: one on idempotency keys of a certain age
-- looks as cheap while statistics say that there are none.)
CREATE OR REPLACE FUNCTION fairway.find_keys(clients text[], keys text[])
RETURNS TABLE (ordinal bigint, hash bytea, account text, sequence bigint, sequence_ledger bigint, max_time bigint,
    envelope bytea, digest bytea)
LANGUAGE plpgsql STABLE
 SET timezone = 'UTC' AS $$
DECLARE
    keys_from constant timestamptz := date_trunc('day', clock_timestamp()) - interval '1 day';
    first constant timestamptz := keys_from - interval '1 day';
    last constant timestamptz := keys_from + interval '3 days';
BEGIN
    RETURN QUERY
        SELECT n.ordinal, l.hash, l.account, l.sequence, l.sequence_ledger, l.max_time, l.envelope, k.digest
        FROM unnest(clients, keys) WITH ORDINALITY AS n (client, key, ordinal)
        CROSS JOIN LATERAL (SELECT * FROM fairway.idempotency_keys i
            WHERE i.client = n.client AND i.key = n.key AND i.granted_at >= first AND i.granted_at < last
            AND (i.granted_at >= keys_from OR starts_with(n.key, 'token:'))
            LIMIT 1) k
        CROSS JOIN LATERAL (SELECT * FROM fairway.leases m
            WHERE fairway.hour_key(m.granted_at, m.hash) = fairway.hour_key(k.granted_at, k.lease_hash)
                AND m.hash = k.lease_hash AND m.granted_at = k.granted_at
            AND m.granted_at >= first AND m.granted_at < last
            LIMIT 1) l;
END $$;
