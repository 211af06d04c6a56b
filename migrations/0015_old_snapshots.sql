-- While any transaction of the server keeps an old snapshot (a backup, a report, a forgotten session), no old version of a row is
-- removed, and about every second update of an account adds an entry to the indexes. A look-up by the key then visits every version.
--
-- From here on the look-ups of accounts that grants and ledgers make stop at the first version that their snapshot sees, and meet new
-- versions before old ones: entries of one key are in the order of their place in the table, and a version that cannot use the place
-- of an old one is put behind it. So they read the range from the key to itself, backwards: PostgreSQL would read an equality forwards.
-- What they cost does not depend on how old the oldest snapshot is. Merged entries would be read forwards.
ALTER INDEX fairway.channel_accounts_pkey SET (deduplicate_items = off);
ALTER INDEX fairway.channel_accounts_slot_key SET (deduplicate_items = off);

-- Locks up to wanted idle accounts, from a random slot upwards, and then from the first. What it costs is that of the accounts that it
-- passes, and not that of the pool. keys: of the master keys that the caller has; empty: all.
-- One walk along the index of slots passes an account at the least cost, but it visits all its versions. So when the table has become
-- many times as large as its accounts, each slot is looked up by itself, and the accounts that were idle are locked by their place.
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
BEGIN
    IF pg_relation_size('fairway.channel_accounts') <= slots * 16384 THEN
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


-- As in 0011, with such look-ups.
CREATE OR REPLACE FUNCTION fairway.check_accounts() RETURNS trigger LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    wrong text;
    first timestamptz;
    last timestamptz;
BEGIN
    SELECT min(n.locked_at), max(n.locked_at) INTO first, last FROM changed n;
    IF first IS NOT NULL THEN
        SELECT n.public_key INTO wrong FROM changed n
        WHERE n.lease_hash IS NOT NULL AND (
            NOT coalesce((SELECT (l.account, l.client, l.sequence, l.max_time) = (n.public_key, n.lease_client, n.lease_sequence,
                    n.lease_max_time) AND l.max_ledger IS NOT DISTINCT FROM n.lease_max_ledger
                FROM fairway.all_leases l
                WHERE l.hash = n.lease_hash AND l.granted_at = n.locked_at AND l.granted_at BETWEEN first AND last), false)
            OR (SELECT r.hash FROM fairway.all_lease_results r
                WHERE r.hash = n.lease_hash AND r.granted_at = n.locked_at AND r.granted_at BETWEEN first AND last) IS NOT NULL)
        LIMIT 1;
    END IF;
    IF wrong IS NULL AND TG_OP = 'UPDATE' THEN
        SELECT min(o.locked_at), max(o.locked_at) INTO first, last FROM before o;
        IF first IS NOT NULL THEN
            SELECT o.public_key INTO wrong FROM before o
            WHERE o.lease_hash IS NOT NULL
                AND (SELECT r.hash FROM fairway.all_lease_results r
                    WHERE r.hash = o.lease_hash AND r.granted_at = o.locked_at AND r.granted_at BETWEEN first AND last) IS NULL
                AND (SELECT a.lease_hash = o.lease_hash FROM fairway.channel_accounts a
                    WHERE a.public_key BETWEEN o.public_key AND o.public_key ORDER BY a.public_key DESC LIMIT 1) IS NOT TRUE
            LIMIT 1;
        END IF;
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE integrity_constraint_violation
            USING MESSAGE = format('account %s and its open lease do not name each other', wrong);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION fairway.check_leases() RETURNS trigger LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    wrong text := (
        SELECT encode(n.hash, 'hex') FROM added n
        WHERE (SELECT a.lease_hash = n.hash AND a.locked_at = n.granted_at FROM fairway.channel_accounts a
            WHERE a.public_key BETWEEN n.account AND n.account ORDER BY a.public_key DESC LIMIT 1) IS NOT TRUE
        LIMIT 1);
BEGIN
    IF wrong IS NOT NULL THEN
        RAISE integrity_constraint_violation USING MESSAGE = format('no account names the new lease %s', wrong);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION fairway.check_lease_results() RETURNS trigger LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    wrong text;
    first timestamptz;
    last timestamptz;
BEGIN
    SELECT min(n.granted_at), max(n.granted_at) INTO first, last FROM added n;
    SELECT encode(n.hash, 'hex') INTO wrong FROM added n
    WHERE coalesce((
        SELECT (SELECT a.lease_hash = l.hash FROM fairway.channel_accounts a
            WHERE a.public_key BETWEEN l.account AND l.account ORDER BY a.public_key DESC LIMIT 1) IS TRUE
        FROM fairway.all_leases l
        WHERE l.hash = n.hash AND l.granted_at = n.granted_at AND l.granted_at BETWEEN first AND last), true)
    LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE integrity_constraint_violation
            USING MESSAGE = format('lease %s cannot have ended: it does not exist, or an account names it', wrong);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION fairway.check_fee_bumps() RETURNS trigger LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    wrong text;
    first timestamptz;
    last timestamptz;
BEGIN
    SELECT min(n.granted_at), max(n.granted_at) INTO first, last FROM added n;
    SELECT encode(n.hash, 'hex') INTO wrong FROM added n
    WHERE (SELECT (SELECT a.lease_hash = l.hash FROM fairway.channel_accounts a
            WHERE a.public_key BETWEEN l.account AND l.account ORDER BY a.public_key DESC LIMIT 1)
        FROM fairway.all_leases l
        WHERE l.hash = n.lease_hash AND l.granted_at = n.granted_at AND l.granted_at BETWEEN first AND last) IS NOT TRUE
    LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE integrity_constraint_violation USING MESSAGE = format('fee bump %s is not of an open lease', wrong);
    END IF;
    RETURN NULL;
END $$;

-- As in 0011. The caller has locked the accounts, so their places do not change before the update.
CREATE OR REPLACE FUNCTION fairway.record_leases(hashes bytea[], accounts text[], sequences bigint[], sequence_ledgers bigint[], clients text[],
    envelopes bytea[], max_times bigint[], max_ledgers bigint[], request_ids text[], keys text[], digests bytea[]) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan SET timezone = 'UTC' AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
    leased bigint;
BEGIN
    IF to_regclass(to_char(moment, '"fairway.idempotency_keys_"YYYYMMDD')) IS NULL THEN
        PERFORM fairway.add_partitions(moment::date, moment::date);
    END IF;
    WITH granted AS MATERIALIZED (
        SELECT * FROM unnest(hashes, accounts, sequences, sequence_ledgers, clients, envelopes, max_times, max_ledgers, request_ids,
            keys, digests) AS g (hash, account, sequence, sequence_ledger, client, envelope, max_time, max_ledger, request_id, key,
            digest)
    ), recorded AS (
        INSERT INTO fairway.leases (hash, account, sequence, sequence_ledger, client, envelope, max_time, max_ledger, request_id,
            granted_at)
        SELECT g.hash, g.account, g.sequence, g.sequence_ledger, g.client, g.envelope, g.max_time, nullif(g.max_ledger, 0),
            g.request_id, moment FROM granted g
    ), keyed AS (
        INSERT INTO fairway.idempotency_keys (client, key, digest, lease_hash, granted_at)
        SELECT g.client, g.key, g.digest, g.hash, moment FROM granted g WHERE g.key IS NOT NULL
    )
    UPDATE fairway.channel_accounts a
        SET lease_hash = g.hash, lease_client = g.client, lease_sequence = g.sequence, lease_max_time = g.max_time,
            lease_max_ledger = nullif(g.max_ledger, 0), locked_at = moment, locked_until = to_timestamp(g.max_time)
        FROM granted g CROSS JOIN LATERAL (SELECT c.ctid AS place FROM fairway.channel_accounts c
            WHERE c.public_key BETWEEN g.account AND g.account ORDER BY c.public_key DESC LIMIT 1) newest
        WHERE a.ctid = newest.place AND a.state = 'active' AND a.lease_hash IS NULL;
    GET DIAGNOSTICS leased = ROW_COUNT;
    RETURN leased;
END $$;

CREATE OR REPLACE FUNCTION fairway.find_bump_sources(sources text[], hashes bytea[], clients text[], sequences bigint[])
RETURNS TABLE (ordinal bigint, public_key text, sealed_seed bytea, key_id text, is_open boolean, is_later boolean, bumps bigint,
    highest bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    first timestamptz;
    last timestamptz;
BEGIN
    SELECT min(s.locked_at), max(s.locked_at) INTO first, last
        FROM (SELECT (SELECT a.locked_at FROM fairway.channel_accounts a
                WHERE a.public_key BETWEEN n.source AND n.source ORDER BY a.public_key DESC LIMIT 1)
            FROM unnest(sources) n (source) OFFSET 0) s (locked_at);
    RETURN QUERY
        SELECT n.ordinal, a.public_key::text, a.sealed_seed, a.key_id,
            coalesce(a.lease_client = n.client AND a.lease_hash = n.hash, false),
            coalesce(a.lease_client = n.client AND a.lease_sequence <= n.sequence, false), b.bumps, b.highest
        FROM unnest(sources, hashes, clients, sequences) WITH ORDINALITY AS n (source, hash, client, sequence, ordinal)
        CROSS JOIN LATERAL (SELECT * FROM fairway.channel_accounts c
            WHERE c.public_key BETWEEN n.source AND n.source ORDER BY c.public_key DESC LIMIT 1) a
        CROSS JOIN LATERAL (SELECT count(*) AS bumps, coalesce(max(f.fee), 0) AS highest FROM fairway.fee_bumps f
            WHERE f.granted_at = a.locked_at AND f.lease_hash = n.hash AND f.granted_at BETWEEN first AND last) b;
END $$;
