-- The leases of these hashes, each the hash of a lease or of a fee bump. Looks among the leases of this hour and the one before it, where
-- most are; then among all fee bumps; then among the leases of the other hours. Days to come count if they have leases: the
-- database's clock may have been set back.
CREATE OR REPLACE FUNCTION fairway.find_grants(hashes bytea[]) RETURNS TABLE (hash bytea, lease_hash bytea, granted_at timestamptz)
LANGUAGE plpgsql STABLE SET timezone = 'UTC' AS $$
DECLARE
    this constant timestamptz := date_trunc('hour', clock_timestamp());
    recent constant timestamptz[] := ARRAY[this, this - interval '1 hour'];
    first timestamptz;
    last timestamptz;
    found bytea[];
    times timestamptz[];
BEGIN
    SELECT coalesce(array_agg(f.hash), '{}'), array_agg(f.granted_at) INTO found, times FROM fairway.find_in_hours(hashes, recent) f;
    RETURN QUERY SELECT f.hash, f.hash, f.granted_at FROM unnest(found, times) f (hash, granted_at);
    hashes := ARRAY(SELECT n FROM unnest(hashes) n WHERE n <> ALL (found));
    IF hashes = '{}' THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT b.hash, b.lease_hash, b.granted_at FROM unnest(hashes) n
        CROSS JOIN LATERAL (SELECT * FROM fairway.fee_bumps f WHERE f.hash = n LIMIT 1) b;
    hashes := ARRAY(SELECT n FROM unnest(hashes) n WHERE (SELECT b.hash FROM fairway.fee_bumps b WHERE b.hash = n LIMIT 1) IS NULL);
    IF hashes = '{}' THEN
        RETURN;
    END IF;
    SELECT min(p.day), max(p.day) FILTER (WHERE p.day <= this OR pg_relation_size(p.part) > 0) + interval '23 hours' INTO first, last
        FROM (SELECT c.oid AS part, to_date(right(c.relname, 8), 'YYYYMMDD')::timestamptz AS day
            FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'fairway.leases'::regclass AND c.relname ~ '_[0-9]{8}$') p;
    RETURN QUERY
        SELECT f.hash, f.hash, f.granted_at
        FROM fairway.find_in_hours(hashes,
            ARRAY(SELECT n FROM generate_series(first, last, interval '1 hour') n WHERE n <> ALL (recent))) f;
END $$;
