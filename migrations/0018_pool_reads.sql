-- What reads the whole pool, while an old snapshot keeps the versions of accounts (see 0015).

-- The accounts of the pool: all but those that are retired, which have no slot and no lease. A scan of the table is the least cost while its
-- file is small. When the file has become many times as large as its accounts, each slot is looked up by itself, with the newest version
-- first: the cost is then that of the slots, whatever the number of versions, and also whatever the number of accounts that are retired.
CREATE VIEW fairway.pool_accounts AS
    WITH pool AS MATERIALIZED (
        SELECT s.slots, pg_relation_size('fairway.channel_accounts') <= s.slots::bigint * 16384 AS small
        FROM (SELECT max(m.slot) + 1 AS slots FROM fairway.channel_accounts m) s)
    SELECT a.public_key, a.slot, a.state, a.key_id, a.quarantine_reason, a.sequence, a.lease_hash, a.lease_client,
        a.lease_sequence, a.lease_max_time, a.lease_max_ledger, a.locked_at
    FROM fairway.channel_accounts a WHERE a.state <> 'retired' AND (SELECT p.small FROM pool p)
    UNION ALL
    SELECT b.public_key, b.slot, b.state, b.key_id, b.quarantine_reason, b.sequence, b.lease_hash, b.lease_client,
        b.lease_sequence, b.lease_max_time, b.lease_max_ledger, b.locked_at
    FROM pool p CROSS JOIN LATERAL generate_series(0, p.slots - 1) n
    CROSS JOIN LATERAL (
        SELECT * FROM fairway.channel_accounts c WHERE c.slot BETWEEN n AND n ORDER BY c.slot DESC LIMIT 1) b
    WHERE NOT p.small;

-- Functions, whose settings leave one plan: the look-up of a slot is never a scan of the table, and the scan has no index.

-- If the search is due: the accounts whose open leases no later ledger than this one can include, and when the next of the other open leases
-- expires (0: none). ledger is the next one.
CREATE FUNCTION fairway.search_leases(due boolean, close_time bigint, ledger bigint,
    OUT expired text[], OUT next_max_time bigint, OUT next_max_ledger bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET max_parallel_workers_per_gather = 0
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF due THEN
        SELECT array_agg(l.public_key) FILTER (WHERE l.ends), min(l.lease_max_time) FILTER (WHERE NOT l.ends),
                min(l.lease_max_ledger) FILTER (WHERE NOT l.ends)
            INTO expired, next_max_time, next_max_ledger
            FROM (SELECT a.public_key::text, a.lease_max_time, a.lease_max_ledger,
                    a.lease_max_time < close_time OR coalesce(a.lease_max_ledger <= ledger, false) AS ends
                FROM fairway.pool_accounts a WHERE a.lease_max_time IS NOT NULL) l;
    END IF;
    expired := coalesce(expired, '{}');
    next_max_time := coalesce(next_max_time, 0);
    next_max_ledger := coalesce(next_max_ledger, 0);
END $$;

-- How many accounts are in which state, and when the oldest open lease was granted.
CREATE FUNCTION fairway.count_pool(OUT idle bigint, OUT leased bigint, OUT creating bigint, OUT retiring bigint,
    OUT retiring_leased bigint, OUT quarantined bigint, OUT oldest_lease timestamptz)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET max_parallel_workers_per_gather = 0
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    SELECT count(*) FILTER (WHERE a.state = 'active' AND a.lease_hash IS NULL),
            count(*) FILTER (WHERE a.state = 'active' AND a.lease_hash IS NOT NULL),
            count(*) FILTER (WHERE a.state = 'creating'),
            count(*) FILTER (WHERE a.state = 'retiring'),
            count(*) FILTER (WHERE a.state = 'retiring' AND a.lease_hash IS NOT NULL),
            count(*) FILTER (WHERE a.state = 'quarantined'),
            min(a.locked_at)
        INTO idle, leased, creating, retiring, retiring_leased, quarantined, oldest_lease
        FROM fairway.pool_accounts a;
END $$;

-- The accounts that are quarantined for this reason.
CREATE FUNCTION fairway.quarantined_for(reason text) RETURNS SETOF text
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET max_parallel_workers_per_gather = 0
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY SELECT a.public_key::text FROM fairway.pool_accounts a WHERE a.quarantine_reason = reason;
END $$;

-- As in 0010, with the oldest open lease from count_pool().
CREATE OR REPLACE FUNCTION fairway.drop_history(keep interval) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    moment constant timestamptz := (SELECT least(clock_timestamp(), to_timestamp(c.close_time)) FROM fairway.cursor c);
    keys_from constant date := (moment - interval '1 minute')::date - 1;
    leases_from constant date := least(keys_from, (moment - keep)::date,
        (SELECT p.oldest_lease::date FROM fairway.count_pool() p));
    part text;
    dropped bigint := 0;
BEGIN
    IF moment IS NULL THEN
        RETURN 0;
    END IF;
    IF to_regclass('fairway.leases_before_0010') IS NOT NULL
        AND (SELECT m.applied_at FROM fairway.migrations m WHERE m.number = 10) < leases_from
    THEN
        PERFORM fairway.forget_before_0010();
        RETURN 2;
    END IF;
    FOR part IN
        SELECT o.name FROM (
            SELECT p.name, p.day, min(p.day) OVER () AS oldest FROM fairway.partitions p
            WHERE p.day < CASE p.parent WHEN 'idempotency_keys' THEN keys_from ELSE leases_from END) o
        WHERE o.day = o.oldest
    LOOP
        EXECUTE format('DROP TABLE fairway.%I', part);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;

-- ---- which walk along the slots costs less

-- Whether a walk along the index of slots visits many versions of each account. The leader measures it every few seconds. The size of the
-- file does not tell: it does not shrink when the snapshot has ended, and retired accounts are in it.
ALTER TABLE fairway.housekeeping ADD COLUMN many_versions boolean NOT NULL DEFAULT true;

-- Walks along 16 slots from a random one, as a claim does, and counts the pages of the table that this visits. Without old versions it is at
-- most one for each account; a look-up of each slot by itself costs as much as about four. If nothing is counted (track_counts), the
-- walk that is good for many versions is taken. Stops when it is clear. Returns 1 when the result has changed.
CREATE FUNCTION fairway.judge_versions() RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    slots constant bigint := (SELECT max(a.slot) + 1 FROM fairway.channel_accounts a);
    last integer := floor(random() * greatest(slots - 15, 1)) - 1;
    before constant bigint := pg_stat_get_xact_blocks_fetched('fairway.channel_accounts'::regclass);
    visited bigint := 0;
    changed bigint;
BEGIN
    FOR i IN 1 .. 16 LOOP
        SELECT a.slot INTO last FROM fairway.channel_accounts a WHERE a.slot > last AND a.state <> '' ORDER BY a.slot LIMIT 1;
        visited := pg_stat_get_xact_blocks_fetched('fairway.channel_accounts'::regclass) - before;
        EXIT WHEN last IS NULL OR visited > 64;
    END LOOP;
    UPDATE fairway.housekeeping h SET many_versions = NOT h.many_versions
        WHERE h.many_versions <> (visited > 64 OR NOT current_setting('track_counts')::boolean);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END $$;

-- As in 0015, but a large file alone does not decide.
CREATE OR REPLACE FUNCTION fairway.claim_accounts(wanted bigint, keys text[])
RETURNS TABLE (public_key text, sequence bigint, sequence_ledger bigint, sealed_seed bytea, key_id text)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    slots constant bigint := (SELECT max(a.slot) + 1 FROM fairway.channel_accounts a);
    first constant bigint := floor(random() * slots);
    passed bigint := 0;
    step bigint := 4 * wanted;
    locked bigint;
    few_versions boolean := pg_relation_size('fairway.channel_accounts') <= slots * 16384;
BEGIN
    IF NOT few_versions THEN
        few_versions := NOT (SELECT h.many_versions FROM fairway.housekeeping h);
    END IF;
    IF few_versions THEN
        RETURN QUERY
            SELECT a.public_key::text, a.sequence, a.sequence_ledger, a.sealed_seed, a.key_id FROM fairway.channel_accounts a
            WHERE a.slot >= first::integer AND a.state = 'active' AND a.lease_hash IS NULL
                AND (keys = '{}' OR a.key_id = ANY (keys))
            ORDER BY a.slot LIMIT wanted FOR UPDATE SKIP LOCKED;
        GET DIAGNOSTICS locked = ROW_COUNT;
        IF locked < wanted THEN
            RETURN QUERY
                SELECT a.public_key::text, a.sequence, a.sequence_ledger, a.sealed_seed, a.key_id FROM fairway.channel_accounts a
                WHERE a.slot < first::integer AND a.state = 'active' AND a.lease_hash IS NULL
                    AND (keys = '{}' OR a.key_id = ANY (keys))
                ORDER BY a.slot LIMIT wanted - locked FOR UPDATE SKIP LOCKED;
        END IF;
        RETURN;
    END IF;
    WHILE wanted > 0 AND passed < slots LOOP
        step := least(step, slots - passed);
        RETURN QUERY
            SELECT b.public_key::text, b.sequence, b.sequence_ledger, b.sealed_seed, b.key_id
            FROM generate_series(first + passed, first + passed + step - 1) n
            CROSS JOIN LATERAL (
                SELECT a.ctid AS place, a.state = 'active' AND a.lease_hash IS NULL AND (keys = '{}' OR a.key_id = ANY (keys)) AS idle
                FROM fairway.channel_accounts a
                WHERE a.slot BETWEEN (n % slots)::integer AND (n % slots)::integer ORDER BY a.slot DESC LIMIT 1) newest
            CROSS JOIN LATERAL (
                SELECT * FROM fairway.channel_accounts c
                WHERE c.ctid = newest.place AND c.state = 'active' AND c.lease_hash IS NULL AND (keys = '{}' OR c.key_id = ANY (keys))
                FOR UPDATE SKIP LOCKED) b
            WHERE newest.idle
            LIMIT wanted;
        GET DIAGNOSTICS locked = ROW_COUNT;
        wanted := wanted - locked;
        passed := passed + step;
        step := 4 * step;
    END LOOP;
END $$;
