-- The leases of these hashes, each the hash of a lease or of a fee bump; NULL: none. Looks among the leases of this hour and the one before it, where
-- most are; then among all fee bumps; then among the leases of the other hours. Days to come count if they have leases: the
-- database's clock may have been set back.
CREATE OR REPLACE FUNCTION fairway.find_grants(hashes bytea[]) RETURNS TABLE (hash bytea, lease_hash bytea, granted_at timestamptz)
LANGUAGE plpgsql STABLE SET timezone = 'UTC' AS $$
DECLARE
    recent constant timestamptz[] := ARRAY[date_trunc('hour', now()), date_trunc('hour', now()) - interval '1 hour'];
    first timestamptz;
    last timestamptz;
BEGIN
    hashes := array_remove(hashes, NULL);
    FOR hash, lease_hash, granted_at IN SELECT f.hash, f.hash, f.granted_at FROM fairway.find_in_hours(hashes, recent) f LOOP
        RETURN NEXT;
        hashes := array_remove(hashes, hash);
    END LOOP;
    FOR hash, lease_hash, granted_at IN SELECT b.hash, b.lease_hash, b.granted_at FROM unnest(hashes) n
        CROSS JOIN LATERAL (SELECT * FROM fairway.fee_bumps f WHERE f.hash = n LIMIT 1) b
    LOOP
        RETURN NEXT;
        hashes := array_remove(hashes, hash);
    END LOOP;
    IF hashes = '{}' THEN
        RETURN;
    END IF;
    SELECT min(p.day), max(p.day) FILTER (WHERE p.day <= now() OR pg_relation_size('fairway.' || p.name) > 0) + interval '23 hours'
        INTO first, last FROM fairway.partitions p WHERE p.parent = 'leases';
    RETURN QUERY
        SELECT f.hash, f.hash, f.granted_at
        FROM fairway.find_in_hours(hashes,
            ARRAY(SELECT n FROM generate_series(first, last, interval '1 hour') n WHERE n <> ALL (recent))) f;
END $$;
