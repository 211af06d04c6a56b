-- Those of these hashes that are of leases granted in one of these hours. The bounds let only the partition of each hour be read.
CREATE OR REPLACE FUNCTION fairway.find_in_hours(hashes bytea[], hours timestamptz[]) RETURNS TABLE (hash bytea, granted_at timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT l.hash, l.granted_at FROM unnest(hours) h (hour)
    CROSS JOIN LATERAL (SELECT array_agg(fairway.hour_key(h.hour, n)) AS keys FROM unnest(hashes) n) k
    CROSS JOIN LATERAL (SELECT m.hash, m.granted_at FROM fairway.leases m
        WHERE fairway.hour_key(m.granted_at, m.hash) = ANY (k.keys) AND m.hash = ANY (hashes)
            AND m.granted_at >= h.hour AND m.granted_at < h.hour + interval '1 hour' OFFSET 0) l
$$;
