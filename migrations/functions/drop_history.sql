-- Drops the history of one day, the oldest that is not needed any more, and returns how many tables it dropped. Leases, results and fee
-- bumps are needed until the whole day is older than keep, and while a lease of that day is open. Keys are needed until the day after
-- the next has begun, and for one minute more, in which a token of the day before may still be valid. Leases are kept for as long as
-- their keys, whatever keep is. A day is over when the database's clock and the last ledger both say so: a wrong clock drops nothing,
-- and without a ledger nothing is dropped.
CREATE OR REPLACE FUNCTION fairway.drop_history(keep interval) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    moment constant timestamptz := (SELECT least(clock_timestamp(), to_timestamp(c.close_time)) FROM fairway.cursor c);
    keys_from constant date := (moment - interval '1 minute')::date - 1;
    leases_from constant date := least(keys_from, (moment - greatest(keep, interval '1 day'))::date);
    part text;
    dropped bigint := 0;
BEGIN
    FOR part IN -- the pool is read only when leases are old enough
        SELECT o.name FROM (
            SELECT p.name, p.day, min(p.day) OVER () AS oldest FROM fairway.partitions p
            WHERE p.day < CASE WHEN p.parent = 'idempotency_keys' THEN keys_from WHEN p.day < leases_from
                THEN least(leases_from, (SELECT min(a.locked_at)::date FROM fairway.pool_accounts a)) END) o
        WHERE o.day = o.oldest
    LOOP
        -- The last end of this day, from one row of each client.
        IF part ~ '^lease_results_' THEN
            EXECUTE format('WITH RECURSIVE ends AS (
                    (SELECT r.client, r.ended_ledger FROM fairway.%1$I r WHERE r.client IS NOT NULL
                        ORDER BY r.client DESC, r.ended_ledger DESC LIMIT 1)
                    UNION ALL
                    SELECT n.* FROM ends e CROSS JOIN LATERAL (SELECT r.client, r.ended_ledger FROM fairway.%1$I r
                        WHERE r.client < e.client ORDER BY r.client DESC, r.ended_ledger DESC LIMIT 1) n)
                INSERT INTO fairway.dropped_ends AS d (ended_ledger)
                SELECT e.last FROM (SELECT max(e.ended_ledger) AS last FROM ends e) e WHERE e.last IS NOT NULL
                ON CONFLICT (only_row) DO UPDATE SET ended_ledger = greatest(d.ended_ledger, EXCLUDED.ended_ledger)', part);
        END IF;
        EXECUTE format('DROP TABLE fairway.%I', part);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;
