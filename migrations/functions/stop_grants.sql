-- Stops grants under this term. An earlier reason stays.
CREATE OR REPLACE FUNCTION fairway.stop_grants(my_term bigint, reason text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE fairway.cursor c SET grants_allowed = false, grants_reason = reason WHERE c.term = my_term AND c.grants_allowed
$$;
