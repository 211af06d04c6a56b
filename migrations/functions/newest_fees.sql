-- What the fee bumps of the client may cost, and on which day, or no row. Meets the newest version first (README.md); PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION fairway.newest_fees(name text) RETURNS TABLE (place tid, day date, stroops bigint)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT f.ctid, f.day, f.stroops FROM fairway.client_fees f WHERE f.client BETWEEN $1 AND $1 ORDER BY f.client DESC LIMIT 1
$$;
