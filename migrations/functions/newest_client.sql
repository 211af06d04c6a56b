-- How many open leases the client has, or no row. Meets the newest version first (README.md); PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION fairway.newest_client(name text) RETURNS TABLE (place tid, open_leases bigint)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT u.ctid, u.open_leases FROM fairway.client_usage u WHERE u.client BETWEEN $1 AND $1 ORDER BY u.client DESC LIMIT 1
$$;
