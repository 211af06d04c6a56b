-- Does nothing when the database is bound already: the caller compares.
CREATE OR REPLACE FUNCTION fairway.bind_network(passphrase text, distribution_account text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO fairway.network (passphrase, distribution_account) VALUES ($1, $2) ON CONFLICT (only_row) DO NOTHING
$$;
