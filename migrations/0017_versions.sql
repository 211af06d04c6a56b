-- What else grows with the versions that an old snapshot keeps (see 0015).

-- Two versions of an account's row for each lease. As long as they fit on the page of the first one they need no entries in the indexes.
-- With fillfactor 50 (0001) rows that had moved to a new page filled half of it at once, so that every second version moved again; and
-- each that moves compares itself with all entries of its key in both unique indexes. Now one in ten moves. Rows that exist stay where
-- they are until they move. An account takes 2.7 KB.
ALTER TABLE fairway.channel_accounts SET (fillfactor = 10);

-- The row of a client with limits changes with each batch of its leases: hundreds of versions a second. These functions are as in 0013,
-- with look-ups that meet the newest version first.
ALTER INDEX fairway.client_usage_pkey SET (deduplicate_items = off);

CREATE OR REPLACE FUNCTION fairway.read_usage(clients text[])
RETURNS TABLE (ordinal bigint, open_leases bigint, ahead_us bigint, slots bigint) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF EXISTS (SELECT FROM unnest(clients) n (client)
        WHERE (SELECT u.counted FROM fairway.client_usage u
            WHERE u.client BETWEEN n.client AND n.client ORDER BY u.client DESC LIMIT 1) IS NOT TRUE)
    THEN
        PERFORM fairway.count_clients(clients);
    END IF;
    RETURN QUERY
        SELECT n.ordinal, u.open_leases,
            CASE WHEN u.busy_until BETWEEN clock_timestamp() AND clock_timestamp() + interval '1 second'
                THEN ceil(extract(epoch FROM u.busy_until - clock_timestamp()) * 1000000)::bigint ELSE 0 END,
            (SELECT coalesce(max(a.slot) + 1, 0)::bigint FROM fairway.channel_accounts a)
        FROM unnest(clients) WITH ORDINALITY n (client, ordinal)
        CROSS JOIN LATERAL (SELECT * FROM fairway.client_usage c
            WHERE c.client BETWEEN n.client AND n.client ORDER BY c.client DESC LIMIT 1) u;
END $$;

-- Locks the rows of these clients, in order. What changes them afterwards is a statement of its own: its snapshot sees what every earlier
-- holder of the locks has committed, and the places of the rows do not change any more.
CREATE FUNCTION fairway.lock_usage(clients text[]) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    PERFORM FROM (SELECT DISTINCT n FROM unnest(clients) n ORDER BY n OFFSET 0) k
        CROSS JOIN LATERAL (SELECT FROM fairway.client_usage u
            WHERE u.client BETWEEN k.n AND k.n ORDER BY u.client DESC LIMIT 1 FOR UPDATE) l;
END $$;

CREATE OR REPLACE FUNCTION fairway.count_leases() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    clients text[];
    changes bigint[];
BEGIN
    PERFORM FROM fairway.client_usage u ORDER BY u.client DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(s.client), array_agg(s.n) INTO clients, changes FROM (
        SELECT d.client, sum(d.n) AS n FROM (
            SELECT b.lease_client, -1 FROM before b WHERE b.lease_client IS NOT NULL
            UNION ALL
            SELECT c.lease_client, 1 FROM changed c WHERE c.lease_client IS NOT NULL) d (client, n)
        GROUP BY d.client HAVING sum(d.n) <> 0) s;
    IF clients IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM fairway.lock_usage(clients);
    UPDATE fairway.client_usage u SET open_leases = u.open_leases + d.n
        FROM unnest(clients, changes) d (client, n)
        CROSS JOIN LATERAL (SELECT c.ctid AS place FROM fairway.client_usage c
            WHERE c.client BETWEEN d.client AND d.client ORDER BY c.client DESC LIMIT 1) newest
        WHERE u.ctid = newest.place;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION fairway.use_leases(clients text[], granted bigint[], open_max bigint[], per_second bigint[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    moment timestamptz;
BEGIN
    PERFORM fairway.lock_usage(clients);
    moment := clock_timestamp();
    UPDATE fairway.client_usage u
        SET busy_until = CASE WHEN u.busy_until BETWEEN moment AND moment + interval '1 second' THEN u.busy_until ELSE moment END
            + n.granted * interval '1 second' / n.per_second
        FROM unnest(clients, granted, per_second) n (client, granted, per_second)
        CROSS JOIN LATERAL (SELECT c.ctid AS place FROM fairway.client_usage c
            WHERE c.client BETWEEN n.client AND n.client ORDER BY c.client DESC LIMIT 1) newest
        WHERE u.ctid = newest.place AND n.per_second > 0;
    IF EXISTS (SELECT FROM unnest(clients, open_max, per_second) n (client, open_max, per_second)
        CROSS JOIN LATERAL (SELECT * FROM fairway.client_usage c
            WHERE c.client BETWEEN n.client AND n.client ORDER BY c.client DESC LIMIT 1) u
        WHERE (n.open_max > 0 AND u.open_leases > n.open_max)
            OR (n.per_second > 0 AND u.busy_until > moment + interval '1 second'))
    THEN
        RAISE serialization_failure USING MESSAGE = 'another replica has granted leases up to the limit of a client';
    END IF;
END $$;
