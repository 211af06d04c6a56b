-- The first requests of this replica are granted: the others wait on.
CREATE OR REPLACE FUNCTION fairway.stop_waiting(me bigint, granted bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    first_period constant bigint := (floor(extract(epoch FROM clock_timestamp()))::bigint - 2) / 10;
BEGIN
    UPDATE fairway.waiting w SET since = w.since[granted + 1 :] WHERE w.period >= first_period AND w.replica = me;
END $$;
