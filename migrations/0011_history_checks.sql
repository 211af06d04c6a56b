-- ---- constraints, checked once a statement
--
-- An account is leased exactly when an open lease names it, and that lease is the one it names. A statement that grants or ends
-- leases changes both sides at once; these triggers run after both. They look up each row by its primary key, in the partitions
-- between the first and the last row. The settings leave no other plan, and a scalar subquery is never turned into a join or a
-- hash table, so a plan that was made while the tables were empty is good for full ones.

CREATE FUNCTION fairway.check_accounts() RETURNS trigger LANGUAGE plpgsql
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
                AND (SELECT a.lease_hash FROM fairway.channel_accounts a
                    WHERE a.public_key = o.public_key AND a.lease_hash = o.lease_hash) IS NULL
            LIMIT 1;
        END IF;
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE integrity_constraint_violation
            USING MESSAGE = format('account %s and its open lease do not name each other', wrong);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER accounts_name_leases
    AFTER UPDATE ON fairway.channel_accounts REFERENCING OLD TABLE AS before NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION fairway.check_accounts();
CREATE TRIGGER new_accounts_name_leases
    AFTER INSERT ON fairway.channel_accounts REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION fairway.check_accounts();

CREATE FUNCTION fairway.check_leases() RETURNS trigger LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    wrong text := (
        SELECT encode(n.hash, 'hex') FROM added n
        WHERE (SELECT a.lease_hash FROM fairway.channel_accounts a
            WHERE a.public_key = n.account AND a.lease_hash = n.hash AND a.locked_at = n.granted_at) IS NULL
        LIMIT 1);
BEGIN
    IF wrong IS NOT NULL THEN
        RAISE integrity_constraint_violation USING MESSAGE = format('no account names the new lease %s', wrong);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION fairway.check_lease_results() RETURNS trigger LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    wrong text;
    first timestamptz;
    last timestamptz;
BEGIN
    SELECT min(n.granted_at), max(n.granted_at) INTO first, last FROM added n;
    SELECT encode(n.hash, 'hex') INTO wrong FROM added n
    WHERE coalesce((
        SELECT (SELECT a.lease_hash FROM fairway.channel_accounts a
            WHERE a.public_key = l.account AND a.lease_hash = l.hash) IS NOT NULL
        FROM fairway.all_leases l
        WHERE l.hash = n.hash AND l.granted_at = n.granted_at AND l.granted_at BETWEEN first AND last), true)
    LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE integrity_constraint_violation
            USING MESSAGE = format('lease %s cannot have ended: it does not exist, or an account names it', wrong);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION fairway.check_fee_bumps() RETURNS trigger LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    wrong text;
    first timestamptz;
    last timestamptz;
BEGIN
    SELECT min(n.granted_at), max(n.granted_at) INTO first, last FROM added n;
    SELECT encode(n.hash, 'hex') INTO wrong FROM added n
    WHERE (SELECT (SELECT a.lease_hash FROM fairway.channel_accounts a
            WHERE a.public_key = l.account AND a.lease_hash = l.hash)
        FROM fairway.all_leases l
        WHERE l.hash = n.lease_hash AND l.granted_at = n.granted_at AND l.granted_at BETWEEN first AND last) IS NULL
    LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE integrity_constraint_violation USING MESSAGE = format('fee bump %s is not of an open lease', wrong);
    END IF;
    RETURN NULL;
END $$;

-- The number of the advisory lock of a key. A grant tries it before it looks for the key, and holds it until it commits. STABLE, as
-- convert_to() is: PostgreSQL inlines it then, which costs a fifth.
CREATE FUNCTION fairway.key_lock(client text, key text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT ('x' || encode(substr(sha256(convert_to('idempotency', 'UTF8') || decode('00', 'hex') || convert_to($1, 'UTF8')
        || decode('00', 'hex') || convert_to($2, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
$$;

-- A second lease for one key: on the same day the primary key of the partition refuses it, on the day before or after this.
CREATE FUNCTION fairway.check_idempotency_keys() RETURNS trigger LANGUAGE plpgsql
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
        OR (SELECT l.hash FROM fairway.leases l WHERE l.hash = n.lease_hash AND l.granted_at = n.granted_at
            AND l.granted_at >= first AND l.granted_at < last) IS NULL
    LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE integrity_constraint_violation
            USING MESSAGE = format('idempotency key "%s" has another lease already, or its lease does not exist', wrong);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION fairway.keep_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE integrity_constraint_violation
        USING MESSAGE = format('rows of fairway.%I are never changed or deleted', TG_TABLE_NAME),
            HINT = 'Housekeeping drops the partitions that are older than LEASE_RETENTION_DAYS.';
END $$;

-- A statement fires the triggers of the table that it names: so the partitions have them too.
CREATE FUNCTION fairway.guard_history(of_table text, like_table text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TRIGGER history_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON fairway.%I'
        ' FOR EACH STATEMENT EXECUTE FUNCTION fairway.keep_history()', of_table);
    EXECUTE format('CREATE TRIGGER history_is_checked AFTER INSERT ON fairway.%I REFERENCING NEW TABLE AS added'
        ' FOR EACH STATEMENT EXECUTE FUNCTION fairway.%I()', of_table, 'check_' || like_table);
END $$;
SELECT fairway.guard_history(t, t) FROM unnest(ARRAY['leases', 'lease_results', 'fee_bumps', 'idempotency_keys']) t;
CREATE TRIGGER history_stays BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON fairway.leases_before_0010
    FOR EACH STATEMENT EXECUTE FUNCTION fairway.keep_history();
CREATE TRIGGER history_stays BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON fairway.fee_bumps_before_0010
    FOR EACH STATEMENT EXECUTE FUNCTION fairway.keep_history();

-- The results and fee bumps of leases that are open now go to the partition of the day on which they were granted.
SELECT fairway.add_partitions(least(current_date, (SELECT min(a.locked_at)::date FROM fairway.channel_accounts a)), current_date + 7);

-- ---- the queries of grants and look-ups, as functions: a server session plans each once, also behind a pooler

-- Whether this is the database that the cursor row names. identity() reads a file, so its result is kept for the session (a
-- setting, which a transaction that is rolled back forgets): nothing in it can change while a session lives, except the table of
-- the cursor, which the caller reads from the row (tableoid).
CREATE FUNCTION fairway.same_database(cursor_table oid, system_identifier bigint, timeline integer, home text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    named constant text := concat_ws(' ', pg_backend_pid(), cursor_table, system_identifier, timeline, home);
    this text := current_setting('fairway.identity', true);
BEGIN
    IF this IS DISTINCT FROM named THEN
        SELECT set_config('fairway.identity', concat_ws(' ', pg_backend_pid(), 'fairway.cursor'::regclass::oid,
            i.system_identifier, i.timeline, i.home), false) INTO this FROM fairway.identity() i;
    END IF;
    RETURN this = named;
END $$;

-- What a grant transaction asks when it has the grants lock, in one row: the columns that pool/grants_allowed judges, the number of the
-- transaction, what the distribution account can spend (-1: not known), and whether requests of other replicas wait.
CREATE FUNCTION fairway.grant_terms(me bigint)
RETURNS TABLE (grants_allowed boolean, grants_reason text, sequence bigint, close_time bigint, clock bigint, same_database boolean,
    held_until bigint, hold_reason text, transaction_id bigint, spendable bigint, others_wait boolean)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
        SELECT c.grants_allowed, c.grants_reason, c.sequence, c.close_time, floor(extract(epoch FROM clock_timestamp()))::bigint,
            fairway.same_database(c.tableoid, c.system_identifier, c.timeline, c.home), c.held_until, c.hold_reason,
            pg_current_xact_id()::text::bigint, coalesce((SELECT f.spendable FROM fairway.funds f), -1),
            EXISTS (SELECT FROM fairway.waiting w WHERE w.replica <> me AND w.since <> '{}'
                AND w.seen_at > clock_timestamp() - interval '2 s')
        FROM fairway.cursor c;
END $$;

-- Which of these addresses are accounts of the pool, by their position from 1.
CREATE FUNCTION fairway.pool_members(addresses text[]) RETURNS SETOF bigint LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
        SELECT n.ordinal FROM unnest(addresses) WITH ORDINALITY AS n (address, ordinal)
        WHERE (SELECT a.public_key FROM fairway.channel_accounts a WHERE a.public_key = n.address) IS NOT NULL;
END $$;

-- As in 0008, with the address as text.
CREATE OR REPLACE FUNCTION fairway.claim_accounts(wanted bigint, keys text[])
RETURNS TABLE (public_key text, sequence bigint, sequence_ledger bigint, sealed_seed bytea, key_id text)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    first integer := floor(random() * (SELECT max(a.slot) + 1 FROM fairway.channel_accounts a));
    locked bigint;
BEGIN
    RETURN QUERY
        SELECT a.public_key::text, a.sequence, a.sequence_ledger, a.sealed_seed, a.key_id FROM fairway.channel_accounts a
        WHERE a.slot >= first AND a.state = 'active' AND a.lease_hash IS NULL AND (keys = '{}' OR a.key_id = ANY (keys))
        ORDER BY a.slot LIMIT wanted FOR UPDATE SKIP LOCKED;
    GET DIAGNOSTICS locked = ROW_COUNT;
    IF locked < wanted THEN
        RETURN QUERY
            SELECT a.public_key::text, a.sequence, a.sequence_ledger, a.sealed_seed, a.key_id FROM fairway.channel_accounts a
            WHERE a.slot < first AND a.state = 'active' AND a.lease_hash IS NULL AND (keys = '{}' OR a.key_id = ANY (keys))
            ORDER BY a.slot LIMIT wanted - locked FOR UPDATE SKIP LOCKED;
    END IF;
END $$;

-- The leases that were taken with these keys yesterday and today; ordinal says with which. A retry late on the second day has recorded
-- its token with the lease of the first day: the token is valid for seconds more, so tokens are found for a day longer.
DROP FUNCTION fairway.find_keys(text[], text[]);
CREATE FUNCTION fairway.find_keys(clients text[], keys text[])
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
            WHERE m.hash = k.lease_hash AND m.granted_at = k.granted_at AND m.granted_at >= first AND m.granted_at < last
            LIMIT 1) l;
END $$;

-- Records leases, lets their accounts name them, and returns how many accounts now do: the others were not idle any more. One item of
-- each array makes a lease. max_ledger 0: none; key NULL: none. One statement, so that the checks of both sides see both.
-- Housekeeping makes partitions days ahead; when it has failed for so long, or the clock was changed, the day's first grant makes them.
-- Those of keys are dropped first, so with theirs all are there.
CREATE FUNCTION fairway.record_leases(hashes bytea[], accounts text[], sequences bigint[], sequence_ledgers bigint[], clients text[],
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
        FROM granted g WHERE a.public_key = g.account AND a.state = 'active' AND a.lease_hash IS NULL;
    GET DIAGNOSTICS leased = ROW_COUNT;
    RETURN leased;
END $$;

-- What a fee bump of each of these transactions needs, when its source is an account of the pool: the account's seed; whether the
-- account's open lease is this client's, of this transaction (is_open) or of the same or an older sequence number (is_later); the fee
-- bumps of that lease so far. The bounds let only the partitions of these leases be opened.
CREATE FUNCTION fairway.find_bump_sources(sources text[], hashes bytea[], clients text[], sequences bigint[])
RETURNS TABLE (ordinal bigint, public_key text, sealed_seed bytea, key_id text, is_open boolean, is_later boolean, bumps bigint,
    highest bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    first timestamptz;
    last timestamptz;
BEGIN
    SELECT min(s.locked_at), max(s.locked_at) INTO first, last
        FROM (SELECT (SELECT a.locked_at FROM fairway.channel_accounts a WHERE a.public_key = n.source)
            FROM unnest(sources) n (source) OFFSET 0) s (locked_at);
    RETURN QUERY
        SELECT n.ordinal, a.public_key::text, a.sealed_seed, a.key_id,
            coalesce(a.lease_client = n.client AND a.lease_hash = n.hash, false),
            coalesce(a.lease_client = n.client AND a.lease_sequence <= n.sequence, false), b.bumps, b.highest
        FROM unnest(sources, hashes, clients, sequences) WITH ORDINALITY AS n (source, hash, client, sequence, ordinal)
        CROSS JOIN LATERAL (SELECT * FROM fairway.channel_accounts c WHERE c.public_key = n.source OFFSET 0) a
        CROSS JOIN LATERAL (SELECT count(*) AS bumps, coalesce(max(f.fee), 0) AS highest FROM fairway.fee_bumps f
            WHERE f.granted_at = a.locked_at AND f.lease_hash = n.hash AND f.granted_at BETWEEN first AND last) b;
END $$;

-- The leases of these hashes, each the hash of a lease or of a fee bump; ordinal says which. Reads each partition.
CREATE FUNCTION fairway.find_leases(hashes bytea[])
RETURNS TABLE (ordinal bigint, hash bytea, client text, account text, sequence bigint, max_time bigint, result text, result_code text,
    ledger bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
        SELECT n.ordinal, l.hash, l.client, l.account, l.sequence, l.max_time, r.result, r.result_code, r.ledger
        FROM unnest(hashes) WITH ORDINALITY AS n (hash, ordinal)
        LEFT JOIN LATERAL (SELECT f.lease_hash FROM fairway.all_fee_bumps f WHERE f.hash = n.hash LIMIT 1) b ON true
        CROSS JOIN LATERAL (SELECT * FROM fairway.all_leases m WHERE m.hash = coalesce(b.lease_hash, n.hash) LIMIT 1) l
        LEFT JOIN LATERAL (SELECT * FROM fairway.all_lease_results e WHERE e.hash = l.hash AND e.granted_at = l.granted_at LIMIT 1) r
            ON true;
END $$;
