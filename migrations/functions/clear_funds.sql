CREATE OR REPLACE FUNCTION fairway.clear_funds() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM fairway.funds
$$;
