-- The first leases of clients with limits, when several batches grant them at a time. count_clients() of 0013 locked the rows that it saw and
-- then made those that were missing: a batch that waited for another one's new row held locks that the other one needed next.

-- Makes the rows of these clients that are missing, then locks all of them. Both in the order of their names: whoever waits for a new row
-- holds no lock on a committed one. A new row is not visible to others before COMMIT, and only those who make it too wait for it.
CREATE FUNCTION fairway.lock_clients(clients text[]) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    INSERT INTO fairway.client_usage (client)
        SELECT n FROM unnest(clients) n
        WHERE (SELECT u.client FROM fairway.client_usage u WHERE u.client BETWEEN n AND n ORDER BY u.client DESC LIMIT 1) IS NULL
        ORDER BY n
        ON CONFLICT DO NOTHING;
    PERFORM fairway.lock_usage(clients);
END $$;

-- As in 0013, but for the order of the locks. Transactions that begin before a new row is committed do not see it: `writers` is set by a
-- later transaction than the one that made the row.
CREATE OR REPLACE FUNCTION fairway.count_clients(clients text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM fairway.lock_clients(clients);
    UPDATE fairway.client_usage u
        SET open_leases = (SELECT count(*) FROM fairway.channel_accounts a WHERE a.lease_client = u.client),
            counted = coalesce(u.writers <= pg_snapshot_xmin(pg_current_snapshot()), false),
            writers = CASE WHEN u.writers IS NOT NULL OR u.xmin <> pg_current_xact_id()::xid
                THEN coalesce(u.writers, pg_snapshot_xmax(pg_current_snapshot())) END
        WHERE u.client = ANY (clients) AND NOT u.counted;
END $$;
