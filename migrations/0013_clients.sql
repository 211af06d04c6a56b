-- What clients with limits use, counted for all replicas together.

-- One row for each client that has had a limit on its leases. A client without limits has none and costs nothing.
CREATE TABLE fairway.client_usage (
    client      text PRIMARY KEY,
    open_leases bigint NOT NULL CHECK (open_leases >= 0),
    busy_until  timestamptz NOT NULL DEFAULT '-infinity' -- when, at its limit of leases a second, all its leases so far would be granted
) WITH (fillfactor = 50);

-- What the fee bumps of a client with a limit of stroops a day may cost: of each lease the highest.
CREATE TABLE fairway.client_fees (
    client  text PRIMARY KEY,
    day     date NOT NULL, -- UTC
    stroops bigint NOT NULL -- of that day
) WITH (fillfactor = 50);

-- Begins to count clients. Nobody grants or ends leases meanwhile: whoever did so before has committed, and is counted here; whoever
-- does so afterwards finds the row. That is once in a client's life.
CREATE FUNCTION fairway.count_clients(clients text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    LOCK TABLE fairway.channel_accounts IN SHARE ROW EXCLUSIVE MODE;
    INSERT INTO fairway.client_usage (client, open_leases)
        SELECT n.client, (SELECT count(*) FROM fairway.channel_accounts a WHERE a.lease_client = n.client)
        FROM unnest(clients) n (client)
        ON CONFLICT DO NOTHING;
END $$;

-- What each client uses now. slots: how many accounts the pool has; accounts that retired keep no slot.
CREATE FUNCTION fairway.read_usage(clients text[])
RETURNS TABLE (ordinal bigint, open_leases bigint, ahead_us bigint, slots bigint) LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM unnest(clients) n (client)
        WHERE NOT EXISTS (SELECT FROM fairway.client_usage u WHERE u.client = n.client))
    THEN
        PERFORM fairway.count_clients(clients);
    END IF;
    RETURN QUERY
        SELECT n.ordinal, u.open_leases,
            CASE WHEN u.busy_until > clock_timestamp()
                THEN ceil(extract(epoch FROM u.busy_until - clock_timestamp()) * 1000000)::bigint ELSE 0 END,
            (SELECT coalesce(max(a.slot) + 1, 0)::bigint FROM fairway.channel_accounts a)
        FROM unnest(clients) WITH ORDINALITY n (client, ordinal)
        JOIN fairway.client_usage u ON u.client = n.client;
END $$;

-- Keeps open_leases, whatever statement grants or ends leases. Rows are locked in the order of their clients, after all accounts, and
-- until COMMIT, which follows at once.
CREATE FUNCTION fairway.count_leases() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM fairway.client_usage) THEN
        RETURN NULL;
    END IF;
    WITH delta AS MATERIALIZED (
        SELECT d.client, sum(d.n) AS n FROM (
            SELECT b.lease_client, -1 FROM before b WHERE b.lease_client IS NOT NULL
            UNION ALL
            SELECT c.lease_client, 1 FROM changed c WHERE c.lease_client IS NOT NULL) d (client, n)
        GROUP BY d.client HAVING sum(d.n) <> 0
    ), locked AS MATERIALIZED (
        SELECT u.client FROM fairway.client_usage u WHERE u.client IN (SELECT d.client FROM delta d) ORDER BY u.client FOR UPDATE
    )
    UPDATE fairway.client_usage u SET open_leases = u.open_leases + d.n
        FROM delta d JOIN locked l ON l.client = d.client
        WHERE u.client = d.client;
    RETURN NULL;
END $$;
CREATE TRIGGER count_leases
    AFTER UPDATE ON fairway.channel_accounts REFERENCING OLD TABLE AS before NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION fairway.count_leases();

-- After leases were recorded and counted: fails when a client has more than its limit now (0: none), because another replica granted
-- some since read_usage. The batch then runs again. granted: how many leases of this batch; open_max: all at once.
CREATE FUNCTION fairway.use_leases(clients text[], granted bigint[], open_max bigint[], per_second bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
BEGIN
    UPDATE fairway.client_usage u
        SET busy_until = greatest(u.busy_until, moment) + n.granted * interval '1 second' / n.per_second
        FROM unnest(clients, granted, per_second) n (client, granted, per_second)
        WHERE u.client = n.client AND n.per_second > 0;
    IF EXISTS (SELECT FROM unnest(clients, open_max, per_second) n (client, open_max, per_second)
        JOIN fairway.client_usage u ON u.client = n.client
        WHERE (n.open_max > 0 AND u.open_leases > n.open_max)
            OR (n.per_second > 0 AND u.busy_until > moment + interval '1 second'))
    THEN
        RAISE serialization_failure USING MESSAGE = 'another replica has granted leases up to the limit of a client';
    END IF;
END $$;

-- Adds what a new fee bump may cost. False, and nothing is changed: it would be more than day_max.
CREATE FUNCTION fairway.use_fees(of_client text, added bigint, day_max bigint) RETURNS boolean LANGUAGE plpgsql
SET timezone = 'UTC' AS $$
BEGIN
    INSERT INTO fairway.client_fees AS f (client, day, stroops) SELECT of_client, current_date, added WHERE added <= day_max
        ON CONFLICT (client) DO UPDATE
        SET stroops = CASE f.day WHEN excluded.day THEN f.stroops ELSE 0 END + excluded.stroops, day = excluded.day
        WHERE CASE f.day WHEN excluded.day THEN f.stroops ELSE 0 END + excluded.stroops <= day_max;
    RETURN FOUND;
END $$;
