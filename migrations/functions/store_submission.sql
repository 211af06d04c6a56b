CREATE OR REPLACE FUNCTION fairway.store_submission(kind text, accounts text[], hash bytea, envelope bytea, sequence bigint, max_time bigint)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO fairway.provisioning (kind, accounts, hash, envelope, sequence, max_time) VALUES ($1, $2, $3, $4, $5, $6)
$$;
