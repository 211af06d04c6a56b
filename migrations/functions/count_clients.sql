-- Begins to count clients. count_leases() keeps the number for every transaction that sees a client's row; one that changed accounts
-- before the row was committed may still be running. So the leases are counted again, under the lock of the row, until all
-- transactions of that time have ended. Nobody waits for them: until then a client may have as many leases too many as they grant.
CREATE OR REPLACE FUNCTION fairway.count_clients(clients text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM fairway.lock_clients(clients);
    UPDATE fairway.client_usage u
        SET open_leases = (SELECT count(*) FROM fairway.channel_accounts a WHERE a.lease_client = u.client),
            counted = coalesce(u.writers <= pg_snapshot_xmin(pg_current_snapshot()), false),
            writers = CASE WHEN u.writers IS NOT NULL OR u.xmin <> pg_current_xact_id()::xid
                THEN coalesce(u.writers, pg_snapshot_xmax(pg_current_snapshot())) END
        WHERE u.client = ANY (clients) AND NOT u.counted;
END $$;
