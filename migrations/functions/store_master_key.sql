CREATE OR REPLACE FUNCTION fairway.store_master_key(key_id text, salt bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO fairway.master_keys (key_id, salt) VALUES ($1, $2) ON CONFLICT DO NOTHING
$$;
