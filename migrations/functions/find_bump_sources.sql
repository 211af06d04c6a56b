-- What a fee bump of each of these transactions needs, when its source is an account of the pool: the account's seed; whether the
-- account's open lease is this client's, of this transaction (is_open) or of the same or an older sequence number (is_later); the fee
-- bumps of that lease so far. The bounds let only the partitions of these leases be opened.
CREATE OR REPLACE FUNCTION fairway.find_bump_sources(sources text[], hashes bytea[], clients text[], sequences bigint[])
RETURNS TABLE (ordinal bigint, public_key text, sealed_seed bytea, key_id text, is_open boolean, is_later boolean, bumps bigint,
    highest bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    first timestamptz;
    last timestamptz;
BEGIN
    SELECT min(s.locked_at), max(s.locked_at) INTO first, last
        FROM (SELECT (SELECT a.locked_at FROM fairway.channel_accounts a
                WHERE a.public_key BETWEEN n.source AND n.source ORDER BY a.public_key DESC LIMIT 1)
            FROM unnest(sources) n (source) OFFSET 0) s (locked_at);
    RETURN QUERY
        SELECT n.ordinal, a.public_key::text, a.sealed_seed, a.key_id,
            coalesce(a.lease_client = n.client AND a.lease_hash = n.hash, false),
            coalesce(a.lease_client = n.client AND a.lease_sequence <= n.sequence, false), b.bumps, b.highest
        FROM unnest(sources, hashes, clients, sequences) WITH ORDINALITY AS n (source, hash, client, sequence, ordinal)
        CROSS JOIN LATERAL (SELECT * FROM fairway.channel_accounts c
            WHERE c.public_key BETWEEN n.source AND n.source ORDER BY c.public_key DESC LIMIT 1) a
        CROSS JOIN LATERAL (SELECT count(*) AS bumps, coalesce(max(f.fee), 0) AS highest FROM fairway.fee_bumps f
            WHERE f.granted_at = a.locked_at AND f.lease_hash = n.hash AND f.granted_at BETWEEN first AND last) b;
END $$;
