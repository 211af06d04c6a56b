-- The partitions of history, one a day (UTC): what is found in them, and which days housekeeping makes and drops.
SELECT fill_pool(10);
CREATE TABLE days AS SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS today, (clock_timestamp() AT TIME ZONE 'UTC')::date - 1 AS yesterday;
SELECT count(fairway.add_partitions(yesterday - 7, today + 7)) FROM days;
CREATE FUNCTION drop_partitions() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    part text;
BEGIN
    FOR part IN SELECT name FROM fairway.partitions LOOP
        EXECUTE format('DROP TABLE fairway.%I', part);
    END LOOP;
END $$;
-- Leases account n with a key, as of this moment.
CREATE FUNCTION lease_at(n bigint, moment timestamptz) RETURNS void LANGUAGE sql AS $$
    SELECT lease(n, '', 'key ' || n), set_config('fairway.correcting', 'on', true); -- so that history may be changed
    UPDATE fairway.leases SET granted_at = moment WHERE hash = lease_hash(n);
    UPDATE fairway.idempotency_keys SET granted_at = moment WHERE lease_hash = lease_hash(n);
    UPDATE fairway.channel_accounts SET locked_at = moment WHERE lease_hash = lease_hash(n);
$$;
-- The days (0: yesterday, 1: today) of which a table has rows.
CREATE VIEW kept AS
    SELECT t AS of, string_agg(DISTINCT (moment AT TIME ZONE 'UTC')::date - yesterday || '', ' ') AS days FROM days, (
        SELECT 'keys', granted_at FROM fairway.idempotency_keys UNION ALL SELECT 'leases', granted_at FROM fairway.leases
        UNION ALL SELECT 'results', granted_at FROM fairway.lease_results) r (t, moment) GROUP BY 1 ORDER BY 1;
-- The same after housekeeping, and how many tables each of its steps dropped. The last ledger closed this long after yesterday began.
CREATE FUNCTION keep(for_days text, closed interval DEFAULT '12 hours') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    steps text := '';
BEGIN
    UPDATE fairway.cursor SET close_time = extract(epoch FROM yesterday::timestamp AT TIME ZONE 'UTC' + closed) FROM days;
    WHILE right(steps, 2) <> ' 0' LOOP
        steps := steps || ' ' || fairway.drop_history(for_days::interval);
    END LOOP;
    RETURN QUERY SELECT 'dropped' || steps UNION ALL SELECT format('%s of %s', of, days) FROM kept;
END $$;

-- H3: days of history are of UTC in a session of any time zone, also when the first lease of a day makes its partitions
CREATE VIEW utc AS SELECT count(*) AS partitions, count(*) FILTER (WHERE day = today AND pg_get_expr(c.relpartbound, c.oid)
        LIKE 'FOR VALUES FROM (''% 00:00:00+00'') TO (''% 00:00:00+00'')') AS of_today
    FROM days, fairway.partitions p JOIN pg_class c ON c.relname = p.name;
BEGIN;
SET LOCAL timezone = 'Pacific/Kiritimati';
SELECT drop_partitions(), lease(0), settle(0, 'confirmed');
SET LOCAL timezone = 'UTC';
SELECT * FROM utc;
SET LOCAL timezone = 'Etc/GMT+12';
SELECT drop_partitions(), fairway.add_partitions(today, today), lease(1), settle(1, 'confirmed') FROM days;
SET LOCAL timezone = 'UTC';
SELECT * FROM utc;
ROLLBACK;

-- Leases of both sides of midnight are settled on their days
BEGIN;
SET LOCAL timezone = 'Pacific/Kiritimati';
SELECT lease_at(0, today::timestamp AT TIME ZONE 'UTC' - interval '1 us'), lease_at(1, today::timestamp AT TIME ZONE 'UTC') FROM days;
SELECT settle(0, 'confirmed'), settle(1, 'confirmed');
SELECT * FROM kept;
SELECT count(*) FROM fairway.lease_history WHERE result = 'confirmed';
ROLLBACK;

-- A lease is found by its hash and by that of a fee bump whenever it was granted, also after now: the clock may have been set back
BEGIN;
SELECT count(lease_at(n, moment)) FROM (
    SELECT row_number() OVER () - 1, moment FROM days, date_trunc('hour', now(), 'UTC') hour, CAST(today::timestamp AT TIME ZONE 'UTC' AS timestamptz) midnight,
        unnest(ARRAY[now(), hour, hour - interval '1 us', hour + interval '1 hour', now() + interval '5 hours', now() - interval '30 hours',
            midnight - interval '1 us', midnight, midnight - interval '2 days', midnight + interval '8 days' - interval '1 us']) moment) m (n, moment);
INSERT INTO fairway.fee_bumps (hash, lease_hash, granted_at, fee) SELECT sha256(hash), hash, granted_at, 200 FROM fairway.leases;
SELECT n, ordinal FROM generate_series(0, 9) n, fairway.find_leases(ARRAY[sha256('none'), lease_hash(n), sha256(lease_hash(n))]) f
    WHERE f.account = account(n) AND f.hash = lease_hash(n) ORDER BY 1, 2;
SET LOCAL timezone = 'Asia/Kathmandu'; -- an hour of it begins within an hour of UTC
SELECT count(*) FROM fairway.find_leases(ARRAY(SELECT hash FROM fairway.leases));
ROLLBACK;

-- DX10: housekeeping locks no day that exists: VACUUM and ANALYZE may work on one for hours
BEGIN;
SELECT fairway.add_partitions(today, today + 8) FROM days;
SELECT DISTINCT l.mode FROM days, pg_locks l JOIN fairway.partitions p ON l.relation = format('fairway.%I', p.name)::regclass
    WHERE p.day <= today + 7 AND l.pid = pg_backend_pid();
ROLLBACK;

-- A day is dropped when all of it is older than the retention time; its keys on the second day after it
SELECT count(lease_at(n, yesterday::timestamp AT TIME ZONE 'UTC' + (3 - n) * interval '1 day' + interval '1 hour')) FROM days, generate_series(2, 9) n;
SELECT settle(n, 'confirmed') FROM generate_series(2, 9) n;
BEGIN;
SELECT keep('7 days');
SELECT keep('4 days');
SELECT keep('0 days');
SELECT ended_ledger FROM fairway.dropped_ends;
ROLLBACK;

-- A key is kept for a minute more, in which a token of the day before may be valid
BEGIN;
SELECT keep('7 days', '59 s');
SELECT keep('7 days', '60 s');
ROLLBACK;

-- A day is over when the last ledger says so too, whatever the database's clock says
BEGIN;
SELECT keep('0 days', '-2 days 60 s');
DELETE FROM fairway.cursor;
SELECT keep('0 days');
ROLLBACK;

-- Leases and keys of two days stay, whatever the caller asks and whichever clock is ahead
BEGIN;
SELECT keep('-1000 days');
SELECT right(keep('-1000 days', '1000 days'), 3); -- at midnight it drops a day less
ROLLBACK;

-- Z6: a day on which an open lease was granted is not dropped
BEGIN;
SELECT lease_at(0, yesterday::timestamp AT TIME ZONE 'UTC' - interval '3 days') FROM days;
SELECT keep('0 days');
ROLLBACK;

-- Z6: rows of history are never changed or deleted, also those of one day
SELECT s AS statement, try(format(s, t)), count(*) FROM unnest('{leases,lease_results,fee_bumps,idempotency_keys}'::text[]) n,
    LATERAL unnest(ARRAY[n, (SELECT min(name) FROM fairway.partitions WHERE parent = n)]) t,
    unnest(ARRAY['DELETE FROM fairway.%I', 'DELETE FROM fairway.%I WHERE false', 'UPDATE fairway.%I SET granted_at = granted_at', 'TRUNCATE fairway.%I']) s
    GROUP BY 1, 2 ORDER BY 1, 2;

-- DX10: accounts are not read when no day is old: there may be many
SELECT * FROM keep('7 days') LIMIT 1;
BEGIN;
SELECT pg_stat_get_xact_blocks_fetched('fairway.channel_accounts'::regclass) AS fetched \gset
SELECT fairway.drop_history('7 days');
SELECT pg_stat_get_xact_blocks_fetched('fairway.channel_accounts'::regclass) - :fetched;
ROLLBACK;

-- Ledgers of the retention time and the cursor's stay
INSERT INTO fairway.ledgers SELECT n, hash, protocol, close_time, 0, NULL, now() - interval '2 hours'
    FROM fairway.ledgers, generate_series(990, 994) n;
SELECT fairway.drop_ledgers('7300 s', 2), fairway.drop_ledgers('7000 s', 2), fairway.drop_ledgers('7000 s', 2), fairway.drop_ledgers('7000 s', 2),
    fairway.drop_ledgers('7000 s', 2);
UPDATE fairway.ledgers SET committed_at = now() - interval '2 hours';
SELECT fairway.drop_ledgers('7000 s', 2), count(*) FROM fairway.ledgers;
