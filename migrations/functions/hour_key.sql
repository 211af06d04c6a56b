-- The number of the hour in which a lease was granted, and its hash. PostgreSQL inlines it, in queries and in indexes.
CREATE OR REPLACE FUNCTION fairway.hour_key(granted_at timestamptz, hash bytea) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.int4send(pg_catalog.floor(pg_catalog.date_part('epoch', $1 AT TIME ZONE 'UTC') / 3600)::integer) || $2
$$;
