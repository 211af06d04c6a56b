-- A claim of this replica took so many accounts, and so many requests still wait for one.
CREATE OR REPLACE FUNCTION fairway.report_waiting(replica bigint, waiting bigint, taken bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO fairway.waiting (replica, waiting, taken, seen_at) VALUES ($1, $2, $3, clock_timestamp())
$$;
