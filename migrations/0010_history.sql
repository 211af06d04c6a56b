-- What each lease reads and changes is as small as the pool: an open lease is columns of its account's row. History is only appended, in
-- partitions by day that are dropped as a whole: leases as they were granted, how they ended, fee bumps, idempotency keys. The time of
-- the grant (granted_at) selects the partition in all four, so a query that has it reads one partition. The tables from before this
-- migration are renamed, read until all their rows are older than the retention time, and then dropped. Only open leases are copied.

-- Transactions lock the cursor before anything else: this waits for all that run and keeps out new ones, so that the locks
-- below cannot deadlock.
LOCK TABLE fairway.cursor IN ACCESS EXCLUSIVE MODE;
LOCK TABLE fairway.channel_accounts, fairway.leases, fairway.fee_bumps IN ACCESS EXCLUSIVE MODE;

DROP TRIGGER lease_names_account ON fairway.leases;
DROP TRIGGER open_leases_stay ON fairway.leases;
DROP TRIGGER leases_stay ON fairway.leases;
DROP TRIGGER accounts_name_leases ON fairway.channel_accounts;
DROP TRIGGER new_accounts_name_leases ON fairway.channel_accounts;
DROP FUNCTION fairway.check_lease(), fairway.check_accounts(), fairway.keep_open_leases();

ALTER TABLE fairway.leases RENAME TO leases_before_0010;
ALTER TABLE fairway.fee_bumps RENAME TO fee_bumps_before_0010;
ALTER TABLE fairway.leases_before_0010 DROP CONSTRAINT leases_account_fkey;
-- These served housekeeping. The primary key and leases_idempotency still serve look-ups.
DROP INDEX fairway.leases_settled, fairway.leases_idempotency_age;

-- How far housekeeping has come is no longer needed; the row is locked by the replica that does it.
ALTER TABLE fairway.housekeeping DROP COLUMN leases_to, DROP COLUMN keys_to;
INSERT INTO fairway.housekeeping DEFAULT VALUES ON CONFLICT DO NOTHING;

-- ---- open leases

-- A CHECK of a column runs at each UPDATE of a row, the CHECK of a domain only when the column is assigned.
CREATE DOMAIN fairway.address AS text CHECK (VALUE ~ '^G[A-Z2-7]{55}$');

-- The columns of an open lease are all set or all NULL, except that lease_max_ledger may always be NULL. They are copies of the
-- lease's row in fairway.leases. No index holds one of them.
ALTER TABLE fairway.channel_accounts
    DROP CONSTRAINT channel_accounts_public_key_check,
    ALTER public_key TYPE fairway.address,
    ADD COLUMN lease_client text,
    ADD COLUMN lease_sequence bigint,
    ADD COLUMN lease_max_time bigint,
    ADD COLUMN lease_max_ledger bigint;
COMMENT ON COLUMN fairway.channel_accounts.locked_at IS 'granted_at of the open lease';

UPDATE fairway.channel_accounts a
    SET lease_client = l.client, lease_sequence = l.sequence, lease_max_time = l.max_time, lease_max_ledger = l.max_ledger,
        locked_at = l.granted_at
    FROM fairway.leases_before_0010 l
    WHERE l.account = a.public_key AND l.settled_at IS NULL;
DROP INDEX fairway.leases_open;

ALTER TABLE fairway.channel_accounts
    ADD CHECK ((lease_hash IS NULL) = (lease_client IS NULL)),
    ADD CHECK ((lease_hash IS NULL) = (lease_sequence IS NULL)),
    ADD CHECK ((lease_hash IS NULL) = (lease_max_time IS NULL)),
    ADD CHECK (lease_hash IS NOT NULL OR lease_max_ledger IS NULL);

-- ---- history

CREATE TABLE fairway.leases (
    hash            bytea NOT NULL CHECK (octet_length(hash) = 32),
    account         text NOT NULL,
    sequence        bigint NOT NULL,
    sequence_ledger bigint, -- of the account when it was leased: part of the answer
    client          text NOT NULL, -- '' when nobody is authenticated
    envelope        bytea NOT NULL, -- as answered: a retry returns these bytes, it never signs again
    max_time        bigint NOT NULL, -- Unix seconds
    max_ledger      bigint, -- exclusive; NULL: none
    request_id      text NOT NULL,
    granted_at      timestamptz NOT NULL
) PARTITION BY RANGE (granted_at); -- in each partition: PRIMARY KEY (hash)

-- How leases ended. A lease without a row here is open.
CREATE TABLE fairway.lease_results (
    hash        bytea NOT NULL,
    granted_at  timestamptz NOT NULL, -- of the lease
    settled_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    result      text NOT NULL CHECK (result IN ('confirmed', 'failed', 'expired', 'superseded', 'consumed')),
    result_code text, -- txSUCCESS, txFAILED ...: innermost, when the transaction was in a ledger
    ledger      bigint NOT NULL -- the one whose commit settled it
) PARTITION BY RANGE (granted_at); -- PRIMARY KEY (hash): a lease has one result

-- Fee bumps that were signed: found by their own hash.
CREATE TABLE fairway.fee_bumps (
    hash       bytea NOT NULL CHECK (octet_length(hash) = 32),
    lease_hash bytea NOT NULL,
    granted_at timestamptz NOT NULL, -- of the lease
    fee        bigint NOT NULL,
    signed_at  timestamptz NOT NULL DEFAULT clock_timestamp()
) PARTITION BY RANGE (granted_at); -- PRIMARY KEY (hash)
-- Serves finding the fee bumps of a lease. New rows have the time of recent leases, so inserts stay at the right edge of the index.
CREATE INDEX fee_bumps_of_lease ON fairway.fee_bumps (granted_at, lease_hash);

-- Which lease a client took with a key. A key is found on the day (UTC) of its lease and on the next one, a token (0012) a day longer.
CREATE TABLE fairway.idempotency_keys (
    client     text NOT NULL,
    key        text NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    digest     bytea NOT NULL CHECK (octet_length(digest) = 32), -- SHA-256 of the request's body
    lease_hash bytea NOT NULL,
    granted_at timestamptz NOT NULL -- of the lease
) PARTITION BY RANGE (granted_at); -- PRIMARY KEY (client, key)

-- The rows from before and after this migration, for look-ups. fairway.forget_before_0010() replaces these views.
CREATE VIEW fairway.all_leases AS
    SELECT hash, account, sequence, sequence_ledger, client, envelope, max_time, max_ledger, request_id, granted_at
    FROM fairway.leases
    UNION ALL
    SELECT hash, account, sequence, sequence_ledger, client, envelope, max_time, max_ledger, request_id, granted_at
    FROM fairway.leases_before_0010;
CREATE VIEW fairway.all_lease_results AS
    SELECT hash, granted_at, settled_at, result, result_code, ledger FROM fairway.lease_results
    UNION ALL
    SELECT hash, granted_at, settled_at, result, result_code, ledger FROM fairway.leases_before_0010
    WHERE settled_at IS NOT NULL;
CREATE VIEW fairway.all_fee_bumps AS
    SELECT hash, lease_hash FROM fairway.fee_bumps
    UNION ALL
    SELECT hash, lease_hash FROM fairway.fee_bumps_before_0010;
CREATE VIEW fairway.all_idempotency_keys AS
    SELECT client, key, digest, lease_hash, granted_at FROM fairway.idempotency_keys
    UNION ALL
    SELECT client, idempotency_key, request_digest, hash, granted_at FROM fairway.leases_before_0010
    WHERE idempotency_key IS NOT NULL;

-- For people: a lease with its keys (NULL: none) and its end.
CREATE VIEW fairway.lease_history AS
    SELECT l.hash, l.account, l.sequence, l.sequence_ledger, l.client, k.idempotency_keys, l.envelope, l.max_time, l.max_ledger,
        l.request_id, l.granted_at, r.settled_at, r.result, r.result_code, r.ledger
    FROM fairway.all_leases l
    LEFT JOIN fairway.all_lease_results r ON r.hash = l.hash AND r.granted_at = l.granted_at
    LEFT JOIN (SELECT i.lease_hash, i.granted_at, array_agg(i.key ORDER BY i.key) AS idempotency_keys
        FROM fairway.all_idempotency_keys i GROUP BY i.lease_hash, i.granted_at) k
        ON k.lease_hash = l.hash AND k.granted_at = l.granted_at;

-- ---- partitions

-- Makes the missing partitions of the days (UTC) from first to last, and returns how many it made. Only one session does so at a time.
-- A table is made first and attached then: that does not wait for transactions that use its parent, and they do not wait for it. As
-- its owner, because the role of `fairway serve` need not own tables; so the days are limited.
CREATE FUNCTION fairway.add_partitions(first date, last date) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
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
        EXECUTE format('CREATE TABLE fairway.%I (LIKE fairway.%I INCLUDING ALL, PRIMARY KEY (%s))', part, parent,
            CASE parent WHEN 'idempotency_keys' THEN 'client, key' ELSE 'hash' END);
        PERFORM fairway.guard_history(part, parent);
        EXECUTE format('ALTER TABLE fairway.%I ATTACH PARTITION fairway.%I FOR VALUES FROM (%L) TO (%L)', parent, part,
            day::timestamptz, (day + 1)::timestamptz);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;

-- The partitions: of which table, and of which day (UTC).
CREATE VIEW fairway.partitions AS
    SELECT p.relname AS parent, c.relname AS name,
        CASE WHEN c.relname ~ '_[0-9]{8}$' THEN right(c.relname, 8)::date END AS day
    FROM pg_catalog.pg_inherits i
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
    JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
    WHERE p.relkind = 'p' AND p.relnamespace = 'fairway'::regnamespace;

-- Replaces the views by ones without the tables of before this migration, and drops those. For their owner: drop_history() calls it.
CREATE FUNCTION fairway.forget_before_0010() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    CREATE OR REPLACE VIEW fairway.all_leases AS
        SELECT hash, account, sequence, sequence_ledger, client, envelope, max_time, max_ledger, request_id, granted_at
        FROM fairway.leases;
    CREATE OR REPLACE VIEW fairway.all_lease_results AS
        SELECT hash, granted_at, settled_at, result, result_code, ledger FROM fairway.lease_results;
    CREATE OR REPLACE VIEW fairway.all_fee_bumps AS SELECT hash, lease_hash FROM fairway.fee_bumps;
    CREATE OR REPLACE VIEW fairway.all_idempotency_keys AS
        SELECT client, key, digest, lease_hash, granted_at FROM fairway.idempotency_keys;
    DROP TABLE fairway.fee_bumps_before_0010, fairway.leases_before_0010;
END $$;

-- Drops the history of one day, the oldest that is not needed any more, and returns how many tables it dropped. Leases, results and fee
-- bumps are needed until the whole day is older than keep, and while a lease of that day is open. Keys are needed until the day after
-- the next has begun, and for one minute more, in which a token of the day before may still be valid. Leases are kept for as long as
-- their keys, whatever keep is. A day is over when the database's clock and the last ledger both say so: a wrong clock drops nothing,
-- and without a ledger nothing is dropped.
CREATE FUNCTION fairway.drop_history(keep interval) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    moment constant timestamptz := (SELECT least(clock_timestamp(), to_timestamp(c.close_time)) FROM fairway.cursor c);
    keys_from constant date := (moment - interval '1 minute')::date - 1;
    leases_from constant date := least(keys_from, (moment - keep)::date,
        (SELECT min(a.locked_at)::date FROM fairway.channel_accounts a));
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

-- Functions that run with the rights of their owner are for the roles that may write here, and not for everyone who may read.
REVOKE EXECUTE ON FUNCTION fairway.add_partitions, fairway.drop_history FROM PUBLIC;
DO $$
DECLARE
    writer regrole;
BEGIN
    FOR writer IN
        SELECT g.grantee FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) g
        WHERE c.oid = 'fairway.housekeeping'::regclass AND g.privilege_type = 'UPDATE' AND g.grantee <> 0
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION fairway.add_partitions, fairway.drop_history TO %s', writer);
    END LOOP;
END $$;
