-- What clients with limits use, counted for all replicas together.

-- One row for each client that has had a limit on its leases. A client without limits has none and costs nothing.
CREATE TABLE fairway.client_usage (
    client      text PRIMARY KEY,
    open_leases bigint NOT NULL DEFAULT 0,
    busy_until  timestamptz NOT NULL DEFAULT '-infinity', -- when, at its limit of leases a second, all its leases so far would be granted
    counted     boolean NOT NULL DEFAULT false, -- open_leases is exact
    writers     xid8 -- while it is not: every transaction that may have granted or ended leases without seeing this row is older
) WITH (fillfactor = 50);

-- What the fee bumps of a client with a limit of stroops a day may cost: of each lease the highest.
CREATE TABLE fairway.client_fees (
    client  text PRIMARY KEY,
    day     date NOT NULL, -- UTC
    stroops bigint NOT NULL -- of that day
) WITH (fillfactor = 50);

-- Begins to count clients. count_leases() keeps the number for every transaction that sees a client's row; one that changed accounts
-- before the row was committed may still be running. So the leases are counted again, under the lock of the row, until all
-- transactions of that time have ended. Nobody waits for them: until then a client may have as many leases too many as they grant.
CREATE FUNCTION fairway.count_clients(clients text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- All of them, in order: those that are counted are locked later by the statement that grants.
    PERFORM FROM fairway.client_usage u WHERE u.client = ANY (clients) ORDER BY u.client FOR UPDATE;
    -- A statement of its own: its snapshot sees what every earlier holder of the locks has committed.
    UPDATE fairway.client_usage u
        SET open_leases = (SELECT count(*) FROM fairway.channel_accounts a WHERE a.lease_client = u.client),
            counted = coalesce(u.writers <= pg_snapshot_xmin(pg_current_snapshot()), false),
            writers = coalesce(u.writers, pg_snapshot_xmax(pg_current_snapshot()))
        WHERE u.client = ANY (clients) AND NOT u.counted;
    INSERT INTO fairway.client_usage (client, open_leases)
        SELECT n.client, (SELECT count(*) FROM fairway.channel_accounts a WHERE a.lease_client = n.client)
        FROM unnest(clients) n (client)
        WHERE NOT EXISTS (SELECT FROM fairway.client_usage u WHERE u.client = n.client)
        ORDER BY n.client
        ON CONFLICT DO NOTHING;
END $$;

-- What each client uses now. slots: how many accounts the pool has; accounts that retired keep no slot. busy_until is never more than a
-- second ahead, unless the clock was set back since; it means nothing then.
CREATE FUNCTION fairway.read_usage(clients text[])
RETURNS TABLE (ordinal bigint, open_leases bigint, ahead_us bigint, slots bigint) LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM unnest(clients) n (client)
        WHERE NOT EXISTS (SELECT FROM fairway.client_usage u WHERE u.client = n.client AND u.counted))
    THEN
        PERFORM fairway.count_clients(clients);
    END IF;
    RETURN QUERY
        SELECT n.ordinal, u.open_leases,
            CASE WHEN u.busy_until BETWEEN clock_timestamp() AND clock_timestamp() + interval '1 second'
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
-- some since read_usage. The batch then runs again. clients: those whose leases these are, no others: one that is above its limit
-- already must not fail the leases of others. granted: how many leases of this batch; open_max: all at once.
CREATE FUNCTION fairway.use_leases(clients text[], granted bigint[], open_max bigint[], per_second bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
BEGIN
    UPDATE fairway.client_usage u
        SET busy_until = CASE WHEN u.busy_until BETWEEN moment AND moment + interval '1 second' THEN u.busy_until ELSE moment END
            + n.granted * interval '1 second' / n.per_second
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

-- Records signed fee bumps, one by an item of each array, and returns the items whose leases are open: refused_by is the limit that
-- forbids the fee bump, which is not recorded then; bumps and highest are those of the lease. A limit of 0 is none. One that was
-- recorded before is recorded; only fee bumps with another hash count. The locks keep the leases open until COMMIT, and make the
-- limits exact: first the accounts, in order, then the clients.
CREATE FUNCTION fairway.record_fee_bumps(hashes bytea[], leases bytea[], fees bigint[], sources text[], clients text[],
    bumps_max bigint[], steps_percent bigint[], stroops_max bigint[])
RETURNS TABLE (ordinal bigint, refused_by text, bumps bigint, highest bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan SET timezone = 'UTC' AS $$
DECLARE
    item record;
    first timestamptz; -- of the leases
    last timestamptz;
    lease bytea; -- the one of the item before
    client text;
    spent bigint; -- of the client, on this day
    added bigint;
    taken bigint[] := '{}'; -- ordinals of what is new
    taken_hashes bytea[] := '{}'; -- of this lease
BEGIN
    SELECT min(l.locked_at), max(l.locked_at) INTO first, last FROM (
        SELECT a.locked_at FROM unnest(sources, leases) n (source, lease_hash)
        JOIN fairway.channel_accounts a ON a.public_key = n.source AND a.lease_hash = n.lease_hash
        ORDER BY a.public_key FOR NO KEY UPDATE OF a) l;
    IF 0 < ANY (stroops_max) THEN
        INSERT INTO fairway.client_fees AS f (client, day, stroops)
            SELECT DISTINCT n.client, clock_timestamp()::date, 0 FROM unnest(clients, stroops_max) n (client, stroops_max)
            WHERE n.stroops_max > 0 ORDER BY 1
            ON CONFLICT ON CONSTRAINT client_fees_pkey DO UPDATE
            SET stroops = CASE WHEN f.day < excluded.day THEN 0 ELSE f.stroops END, day = greatest(f.day, excluded.day);
    END IF;
    -- Statements of their own: their snapshots see what every earlier holder of the locks has committed.
    FOR item IN
        SELECT n.ordinal, n.hash, n.lease_hash, n.fee, n.client, n.bumps_max, n.step_percent, n.stroops_max,
            f.bumps, f.highest, f.again, c.stroops AS spent
        FROM unnest(hashes, leases, fees, sources, clients, bumps_max, steps_percent, stroops_max) WITH ORDINALITY
            AS n (hash, lease_hash, fee, source, client, bumps_max, step_percent, stroops_max, ordinal)
        JOIN fairway.channel_accounts a ON a.public_key = n.source AND a.lease_hash = n.lease_hash
        CROSS JOIN LATERAL (SELECT count(*) AS bumps, coalesce(max(b.fee), 0) AS highest,
                coalesce(bool_or(b.hash = n.hash), false) AS again
            FROM fairway.fee_bumps b
            WHERE b.granted_at = a.locked_at AND b.lease_hash = n.lease_hash AND b.granted_at BETWEEN first AND last) f
        LEFT JOIN fairway.client_fees c ON c.client = n.client AND n.stroops_max > 0
        ORDER BY n.client, n.lease_hash, n.ordinal
    LOOP
        IF client IS DISTINCT FROM item.client THEN
            client := item.client;
            spent := item.spent;
        END IF;
        IF lease IS DISTINCT FROM item.lease_hash THEN
            lease := item.lease_hash;
            bumps := item.bumps;
            highest := item.highest;
            taken_hashes := '{}';
        END IF;
        ordinal := item.ordinal;
        added := greatest(item.fee - highest, 0); -- only one fee bump of a lease can get into a ledger
        refused_by := CASE
            WHEN item.again OR item.hash = ANY (taken_hashes) THEN NULL
            WHEN item.bumps_max > 0 AND bumps >= item.bumps_max THEN 'feeBumps'
            WHEN item.step_percent > 0 AND bumps > 0 AND item.fee <> highest
                AND item.fee < highest + (highest * item.step_percent + 99) / 100 THEN 'feeBumpStepPercent'
            WHEN item.stroops_max > 0 AND added > item.stroops_max - spent AND added > 0 THEN 'stroopsPerDay'
            END;
        IF refused_by IS NULL AND NOT item.again AND item.hash <> ALL (taken_hashes) THEN
            taken := taken || item.ordinal;
            taken_hashes := taken_hashes || item.hash;
            bumps := bumps + 1;
            highest := highest + added;
            IF item.stroops_max > 0 AND added > 0 THEN
                spent := spent + added;
                UPDATE fairway.client_fees c SET stroops = spent WHERE c.client = item.client;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
    IF taken <> '{}' THEN
        INSERT INTO fairway.fee_bumps (hash, lease_hash, granted_at, fee)
            SELECT hashes[t.n], leases[t.n], a.locked_at, fees[t.n] FROM unnest(taken) t (n)
            JOIN fairway.channel_accounts a ON a.public_key = sources[t.n];
    END IF;
END $$;
