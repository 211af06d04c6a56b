-- A hash is random. In an index that starts with it, each row goes to another page of a whole day's entries: with 50 million leases a
-- day these are gigabytes, which do not stay in memory, and after each checkpoint almost each row writes a whole page to the WAL. The
-- indexes of leases and results now start with the time of the grant, so new entries share a few pages. That of leases starts with the
-- hour: a look-up that knows only a hash tries one hour after the other. A hash is unique within its hour; it was within its day.
-- Leases have no other index, and this one has a single column: so PostgreSQL has only one plan to choose, also for empty tables.
-- Fee bumps and idempotency keys keep their indexes.

-- The number of the hour in which a lease was granted, and its hash. PostgreSQL inlines it, in queries and in indexes.
CREATE FUNCTION fairway.hour_key(granted_at timestamptz, hash bytea) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.int4send(pg_catalog.floor(pg_catalog.date_part('epoch', $1 AT TIME ZONE 'UTC') / 3600)::integer) || $2
$$;

-- Makes the index of a partition, besides those of its parent.
CREATE FUNCTION fairway.index_history(part text, of_table text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF of_table = 'leases' THEN
        EXECUTE format('CREATE UNIQUE INDEX %I ON fairway.%I (fairway.hour_key(granted_at, hash))', part || '_hour', part);
    ELSE
        EXECUTE format('ALTER TABLE fairway.%I ADD PRIMARY KEY (%s)', part, CASE of_table
            WHEN 'lease_results' THEN 'granted_at, hash' WHEN 'idempotency_keys' THEN 'client, key' ELSE 'hash' END);
    END IF;
END $$;

-- As in 0010, with these indexes.
CREATE OR REPLACE FUNCTION fairway.add_partitions(first date, last date) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    day date;
    parent text;
    part text;
    made bigint := 0;
BEGIN
    IF last > current_date + 31 OR last - first > 366 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('partitions of %s to %s: too many, or too far ahead', first, last);
    END IF;
    LOCK TABLE fairway.leases IN SHARE UPDATE EXCLUSIVE MODE;
    FOR day, parent IN
        SELECT first + n, t FROM generate_series(0, last - first) n,
            unnest(ARRAY['leases', 'lease_results', 'fee_bumps', 'idempotency_keys']) t
        ORDER BY 1, 2
    LOOP
        part := parent || to_char(day, '_YYYYMMDD');
        CONTINUE WHEN to_regclass('fairway.' || part) IS NOT NULL;
        EXECUTE format('CREATE TABLE fairway.%I (LIKE fairway.%I INCLUDING ALL)', part, parent);
        PERFORM fairway.index_history(part, parent);
        PERFORM fairway.guard_history(part, parent);
        EXECUTE format('ALTER TABLE fairway.%I ATTACH PARTITION fairway.%I FOR VALUES FROM (%L) TO (%L)', parent, part,
            day::timestamptz, (day + 1)::timestamptz);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;

-- The partitions of the days to come are empty and get these indexes now. Those with rows keep PRIMARY KEY (hash), which serves all
-- look-ups too, until they are dropped. Transactions lock the cursor first (see 0010).
LOCK TABLE fairway.cursor IN ACCESS EXCLUSIVE MODE;
LOCK TABLE fairway.leases, fairway.lease_results IN ACCESS EXCLUSIVE MODE;
DO $$
DECLARE
    part record;
    used boolean;
BEGIN
    FOR part IN SELECT p.parent, p.name FROM fairway.partitions p
        WHERE p.parent IN ('leases', 'lease_results') AND p.day IS NOT NULL ORDER BY p.name
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM fairway.%I)', part.name) INTO used;
        CONTINUE WHEN used;
        EXECUTE format('ALTER TABLE fairway.%I DROP CONSTRAINT %I', part.name, part.name || '_pkey');
        PERFORM fairway.index_history(part.name, part.parent);
    END LOOP;
END $$;

-- Those of these hashes that are of leases granted in one of these hours. The bounds let only the partition of each hour be read.
CREATE FUNCTION fairway.find_in_hours(hashes bytea[], hours timestamptz[]) RETURNS TABLE (hash bytea, granted_at timestamptz)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
        SELECT l.hash, l.granted_at FROM unnest(hours) h (hour)
        CROSS JOIN LATERAL (SELECT array_agg(fairway.hour_key(h.hour, n)) AS keys FROM unnest(hashes) n) k
        CROSS JOIN LATERAL (SELECT m.hash, m.granted_at FROM fairway.leases m
            WHERE fairway.hour_key(m.granted_at, m.hash) = ANY (k.keys) AND m.hash = ANY (hashes)
                AND m.granted_at >= h.hour AND m.granted_at < h.hour + interval '1 hour' OFFSET 0) l;
END $$;

-- The leases of these hashes, each the hash of a lease or of a fee bump. Looks among the leases of this hour and the one before it, where
-- most are; then among all fee bumps; then among the leases of the other hours. Days to come count if they have leases: the
-- database's clock may have been set back.
CREATE FUNCTION fairway.find_grants(hashes bytea[]) RETURNS TABLE (hash bytea, lease_hash bytea, granted_at timestamptz)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan SET timezone = 'UTC' AS $$
DECLARE
    this constant timestamptz := date_trunc('hour', clock_timestamp());
    recent constant timestamptz[] := ARRAY[this, this - interval '1 hour'];
    first timestamptz;
    last timestamptz;
    found bytea[];
    times timestamptz[];
BEGIN
    SELECT coalesce(array_agg(f.hash), '{}'), array_agg(f.granted_at) INTO found, times FROM fairway.find_in_hours(hashes, recent) f;
    RETURN QUERY SELECT f.hash, f.hash, f.granted_at FROM unnest(found, times) f (hash, granted_at);
    hashes := ARRAY(SELECT n FROM unnest(hashes) n WHERE n <> ALL (found));
    IF hashes = '{}' THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT b.hash, b.lease_hash, b.granted_at FROM unnest(hashes) n
        CROSS JOIN LATERAL (SELECT * FROM fairway.fee_bumps f WHERE f.hash = n LIMIT 1) b;
    hashes := ARRAY(SELECT n FROM unnest(hashes) n WHERE (SELECT b.hash FROM fairway.fee_bumps b WHERE b.hash = n LIMIT 1) IS NULL);
    IF hashes = '{}' THEN
        RETURN;
    END IF;
    SELECT min(p.day), max(p.day) FILTER (WHERE p.day <= this OR pg_relation_size(p.part) > 0) + interval '23 hours' INTO first, last
        FROM (SELECT c.oid AS part, to_date(right(c.relname, 8), 'YYYYMMDD')::timestamptz AS day
            FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'fairway.leases'::regclass AND c.relname ~ '_[0-9]{8}$') p;
    RETURN QUERY
        SELECT f.hash, f.hash, f.granted_at
        FROM fairway.find_in_hours(hashes,
            ARRAY(SELECT n FROM generate_series(first, last, interval '1 hour') n WHERE n <> ALL (recent))) f;
END $$;

-- As in 0011.
CREATE OR REPLACE FUNCTION fairway.find_leases(hashes bytea[])
RETURNS TABLE (ordinal bigint, hash bytea, client text, account text, sequence bigint, max_time bigint, result text, result_code text,
    ledger bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
        SELECT n.ordinal, l.hash, l.client, l.account, l.sequence, l.max_time, r.result, r.result_code, r.ledger
        FROM fairway.find_grants(hashes) g
        JOIN unnest(hashes) WITH ORDINALITY n (hash, ordinal) ON n.hash = g.hash
        CROSS JOIN LATERAL (SELECT * FROM fairway.all_leases m
            WHERE fairway.hour_key(m.granted_at, m.hash) = fairway.hour_key(g.granted_at, g.lease_hash)
                AND m.hash = g.lease_hash AND m.granted_at = g.granted_at
            LIMIT 1) l
        LEFT JOIN LATERAL (SELECT * FROM fairway.all_lease_results e WHERE e.hash = g.lease_hash AND e.granted_at = g.granted_at LIMIT 1) r
            ON true;
    IF to_regclass('fairway.leases_before_0010') IS NOT NULL THEN
        RETURN QUERY
            SELECT n.ordinal, l.hash, l.client, l.account, l.sequence, l.max_time, r.result, r.result_code, r.ledger
            FROM unnest(hashes) WITH ORDINALITY n (hash, ordinal)
            LEFT JOIN LATERAL (SELECT f.lease_hash FROM fairway.fee_bumps_before_0010 f WHERE f.hash = n.hash LIMIT 1) b ON true
            CROSS JOIN LATERAL (SELECT * FROM fairway.leases_before_0010 m WHERE m.hash = coalesce(b.lease_hash, n.hash) LIMIT 1) l
            LEFT JOIN LATERAL (SELECT * FROM fairway.all_lease_results e WHERE e.hash = l.hash AND e.granted_at = l.granted_at LIMIT 1) r
                ON true
            WHERE (SELECT e.hash FROM fairway.fee_bumps e WHERE e.hash = n.hash LIMIT 1) IS NULL; -- else it was asked for again
    END IF;
END $$;

-- As in 0012. Leases from before 0010 get none.
CREATE OR REPLACE FUNCTION fairway.record_token_keys(clients text[], keys text[], digests bytea[], hashes bytea[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    INSERT INTO fairway.idempotency_keys (client, key, digest, lease_hash, granted_at)
        SELECT n.client, n.key, n.digest, l.hash, l.granted_at
        FROM fairway.find_grants(hashes) g
        JOIN unnest(clients, keys, digests, hashes) AS n (client, key, digest, hash) ON n.hash = g.hash
        CROSS JOIN LATERAL (SELECT m.hash, m.granted_at FROM fairway.leases m
            WHERE fairway.hour_key(m.granted_at, m.hash) = fairway.hour_key(g.granted_at, g.lease_hash)
                AND m.hash = g.lease_hash AND m.granted_at = g.granted_at
            LIMIT 1) l;
END $$;

-- ---- as in 0011 and 0015, with look-ups of leases by hour_key()

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
                WHERE fairway.hour_key(l.granted_at, l.hash) = fairway.hour_key(n.locked_at, n.lease_hash)
                    AND l.hash = n.lease_hash AND l.granted_at = n.locked_at
                    AND l.granted_at BETWEEN first AND last), false)
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
        WHERE fairway.hour_key(l.granted_at, l.hash) = fairway.hour_key(n.granted_at, n.hash)
            AND l.hash = n.hash AND l.granted_at = n.granted_at
            AND l.granted_at BETWEEN first AND last), true)
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
        WHERE fairway.hour_key(l.granted_at, l.hash) = fairway.hour_key(n.granted_at, n.lease_hash)
            AND l.hash = n.lease_hash AND l.granted_at = n.granted_at
            AND l.granted_at BETWEEN first AND last) IS NOT TRUE
    LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE integrity_constraint_violation USING MESSAGE = format('fee bump %s is not of an open lease', wrong);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION fairway.check_idempotency_keys() RETURNS trigger LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET timezone = 'UTC' AS $$
DECLARE
    wrong text;
    first timestamptz;
    last timestamptz;
BEGIN
    SELECT date_trunc('day', min(n.granted_at)) - interval '1 day', date_trunc('day', max(n.granted_at)) + interval '2 days'
        INTO first, last FROM added n;
    IF first IS NULL THEN
        RETURN NULL; -- no lease of the statement has a key
    END IF;
    PERFORM pg_advisory_xact_lock(fairway.key_lock(n.client, n.key)) FROM added n;
    SELECT n.key INTO wrong FROM added n
    WHERE (SELECT k.key FROM fairway.all_idempotency_keys k
            WHERE k.client = n.client AND k.key = n.key AND k.lease_hash <> n.lease_hash
            AND k.granted_at >= first AND k.granted_at < last LIMIT 1) IS NOT NULL
        OR (SELECT l.hash FROM fairway.leases l
            WHERE fairway.hour_key(l.granted_at, l.hash) = fairway.hour_key(n.granted_at, n.lease_hash)
                AND l.hash = n.lease_hash AND l.granted_at = n.granted_at
            AND l.granted_at >= first AND l.granted_at < last) IS NULL
    LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE integrity_constraint_violation
            USING MESSAGE = format('idempotency key "%s" has another lease already, or its lease does not exist', wrong);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION fairway.find_keys(clients text[], keys text[])
RETURNS TABLE (ordinal bigint, hash bytea, account text, sequence bigint, sequence_ledger bigint, max_time bigint,
    envelope bytea, digest bytea)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan SET timezone = 'UTC' AS $$
DECLARE
    keys_from constant timestamptz := date_trunc('day', clock_timestamp()) - interval '1 day';
    first constant timestamptz := keys_from - interval '1 day';
    last constant timestamptz := keys_from + interval '3 days';
BEGIN
    RETURN QUERY
        SELECT n.ordinal, l.hash, l.account, l.sequence, l.sequence_ledger, l.max_time, l.envelope, k.digest
        FROM unnest(clients, keys) WITH ORDINALITY AS n (client, key, ordinal)
        CROSS JOIN LATERAL (SELECT * FROM fairway.all_idempotency_keys i
            WHERE i.client = n.client AND i.key = n.key AND i.granted_at >= first AND i.granted_at < last
            AND (i.granted_at >= keys_from OR starts_with(n.key, 'token:'))
            LIMIT 1) k
        CROSS JOIN LATERAL (SELECT * FROM fairway.all_leases m
            WHERE fairway.hour_key(m.granted_at, m.hash) = fairway.hour_key(k.granted_at, k.lease_hash)
                AND m.hash = k.lease_hash AND m.granted_at = k.granted_at
            AND m.granted_at >= first AND m.granted_at < last
            LIMIT 1) l;
END $$;
