-- What leases, their ends and look-ups cost with a long history (DX10): the pages that they read are bounded, whatever is in the tables of history and
-- whatever their statistics say. FAIRWAY_HISTORY is the number of settled leases in the 6 days before today; a scan of a day reads 500 pages or more.
SELECT fill_pool(200);
SELECT no_autovacuum();
SELECT fairway.add_partitions(current_date - 6, current_date);
SELECT no_autovacuum();
\set history 60000
\getenv history FAIRWAY_HISTORY
-- Leases accounts 0 to count - 1, with keys; a ledger that ends these leases.
CREATE SEQUENCE turn;
CREATE FUNCTION grant_leases(count bigint) RETURNS text LANGUAGE sql AS $$
    SELECT leases(array_agg(n + 1000 * t), keys => array_agg(n || ' of ' || t)) FROM nextval('turn') t, generate_series(0, count - 1) n
$$;
CREATE FUNCTION settle_leases(count bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    PERFORM l.* FROM (SELECT array_agg(account(n)) AS keys FROM generate_series(0, count - 1) n) k, fairway.lock_accounts(k.keys) l;
    PERFORM fairway.settle_accounts(array_agg(account(n)), array_agg('active'::text), array_agg(101), array_agg(1000::bigint), array_agg(NULL::text),
        array_agg('confirmed'::text), array_agg('txSUCCESS'::text), array_agg(1000::bigint), array_agg(NULL::bytea), array_agg(0::bigint),
        array_agg(NULL::bytea), array_agg(NULL::bytea)) FROM generate_series(0, count - 1) n;
END $$;
CREATE FUNCTION costs(OUT leases text, OUT ledger text, OUT lease text, OUT one_end text) LANGUAGE plpgsql AS $$
DECLARE
    pages bigint[] := '{NULL, NULL, NULL, NULL}';
BEGIN
    FOR time IN 1 .. 2 LOOP -- another session may have caused that a statement is planned again
        pages := ARRAY[least(pages[1], measure('SELECT grant_leases(32)', true)), least(pages[2], measure('SELECT settle_leases(32)', true)),
            least(pages[3], measure('SELECT grant_leases(1)', true)), least(pages[4], measure('SELECT settle_leases(1)', true))];
    END LOOP;
    SELECT at_most(pages[1], 1000), at_most(pages[2], 1100), at_most(pages[3], 60), at_most(pages[4], 60) INTO leases, ledger, lease, one_end;
END $$;
CREATE FUNCTION find(OUT two bigint, OUT unknown bigint, OUT hundred bigint) LANGUAGE plpgsql AS $$ BEGIN -- pages for so many hashes
    FOR planned IN 1 .. 2 LOOP
        two := measure('SELECT * FROM fairway.find_leases(ARRAY[sha256(''60077''), sha256(sha256(''60078''))])');
        unknown := measure('SELECT * FROM fairway.find_leases(ARRAY[sha256(''none'')])');
        hundred := measure('SELECT * FROM fairway.find_leases(ARRAY(SELECT lease_hash(n) FROM generate_series(1, 100) n))');
    END LOOP;
END $$;
CREATE FUNCTION bump() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE pages bigint; BEGIN -- pages for one of an open lease among 10,000
    UPDATE fairway.channel_accounts SET lease_hash = l.hash, lease_client = '', lease_sequence = 1, lease_max_time = 1, locked_at = l.granted_at
        FROM (SELECT * FROM fairway.leases ORDER BY sequence DESC LIMIT 1) l WHERE slot = 199;
    FOR planned IN 1 .. 2 LOOP
        pages := measure(format('SELECT * FROM fairway.record_fee_bumps(ARRAY[sha256(''new'')], ARRAY[%L]::bytea[], ''{100}'', ARRAY[account(199)], ''{""}'', ''{0}'', ''{0}'')',
            lease_hash)) FROM fairway.channel_accounts WHERE slot = 199;
    END LOOP;
    RETURN pages;
END $$;
BEGIN;
SELECT count(costs()), bump() IS NULL;
ROLLBACK;
SELECT unknown AS none, hundred AS hundred_none FROM find() \gset
-- Settled leases of these numbers, with keys and fee bumps.
CREATE FUNCTION add_leases(first bigint, last bigint, moment timestamptz, step interval) RETURNS void LANGUAGE sql AS $$
    WITH l AS (INSERT INTO fairway.leases (hash, account, sequence, client, envelope, max_time, request_id, granted_at)
            SELECT sha256(n::text::bytea), account(n % 200), n, '', decode(repeat(md5(n::text), 11), 'hex'), 1, 'r', moment + (n - first) * step
            FROM generate_series(first, last) n RETURNING *),
        r AS (INSERT INTO fairway.lease_results (hash, granted_at, result, result_code, ledger, client, ended_ledger, place)
            SELECT hash, granted_at, 'confirmed', 'txSUCCESS', 1, client, sequence / 100, sequence % 100 FROM l),
        b AS (INSERT INTO fairway.fee_bumps (hash, lease_hash, granted_at, fee) SELECT sha256(hash), hash, granted_at, 200 FROM l)
    INSERT INTO fairway.idempotency_keys (client, key, digest, lease_hash, granted_at) SELECT '', sequence::text, hash, hash, granted_at FROM l
$$;
SELECT add_leases(1, :history, current_date - interval '6 days', interval '6 days' / :history);
SELECT add_leases(:history + 1, :history + 10000, now(), '0');

CREATE TABLE without AS SELECT :none AS unknown, :hundred_none AS hundred;
CREATE FUNCTION look_ups() RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(', ', at_most(f.two, 100), CASE WHEN f.unknown > w.unknown + 30 THEN f.unknown END, CASE WHEN f.hundred > 2 * w.hundred THEN f.hundred END,
        at_most(bump(), 60)) FROM find() f, without w
$$;

-- DX10: plans that were made for empty tables are good for full ones
BEGIN;
SELECT * FROM costs();
SELECT look_ups();
ROLLBACK;

-- DX10: costs do not depend on the history, whatever the statistics say
BEGIN;
SELECT say(NULL), count(costs());
SELECT * FROM costs();
SELECT look_ups();
ROLLBACK;
BEGIN;
SELECT say(0), count(costs());
SELECT * FROM costs();
SELECT look_ups();
ROLLBACK;
BEGIN;
SELECT say(1), count(costs());
SELECT * FROM costs();
SELECT look_ups();
ROLLBACK;
BEGIN;
SELECT say(100000000, 1), count(costs());
SELECT * FROM costs();
SELECT look_ups();
ROLLBACK;

-- DX10: leases and their ends write to few pages of a day: after a checkpoint the first change of a page writes all of it to the WAL
CREATE FUNCTION wal() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE plan json; BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, WAL, FORMAT JSON) SELECT grant_leases(32), settle_leases(32)' INTO plan;
    RETURN plan->0->'Plan'->>'WAL Bytes';
END $$;
CHECKPOINT;
BEGIN;
SELECT at_most(sum(wal())::bigint / 320, 4200) FROM generate_series(1, 10);
ROLLBACK;
