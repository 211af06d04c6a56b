-- What grants, ledgers and reads of the whole pool cost while another transaction keeps an old snapshot, so that no version of a row can be removed
-- (DX9). Each case is a transaction that makes the versions itself: until it ends, none of them can be removed either.
SELECT fill_pool(16);
SELECT no_autovacuum();
-- Leases half of the pool and ends that by a ledger.
CREATE FUNCTION turn() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    keys constant text[] := ARRAY(SELECT public_key FROM fairway.claim_accounts(8, '{}'));
    hashes constant bytea[] := ARRAY(SELECT sha256(convert_to(k || clock_timestamp(), 'UTF8')) FROM unnest(keys) k);
BEGIN
    PERFORM fairway.record_leases(hashes, keys, array_fill(101, '{8}'), array_fill(1000, '{8}'), array_fill(''::text, '{8}'), array_fill(''::bytea, '{8}'),
        array_fill(2000000000, '{8}'), array_fill(0, '{8}'), array_fill('r'::text, '{8}'), array_fill(NULL::text, '{8}'), array_fill(NULL::bytea, '{8}'),
        array_fill(0, '{8}'), array_fill(NULL::text, '{8}'), array_fill(NULL::bytea, '{8}'), array_fill(NULL::text, '{8}'), array_fill(0, '{8}'));
    PERFORM count(*) FROM fairway.lock_accounts(keys);
    PERFORM fairway.settle_accounts(keys, array_fill('active'::text, '{8}'), array_fill(101, '{8}'), array_fill(1000, '{8}'), array_fill(NULL::text, '{8}'),
        array_fill('confirmed'::text, '{8}'), array_fill('txSUCCESS'::text, '{8}'), array_fill(1000, '{8}'), array_fill(NULL::bytea, '{8}'),
        array_fill(0, '{8}'), array_fill(NULL::bytea, '{8}'), array_fill(NULL::bytea, '{8}'));
END $$;

-- DX9: leases meet as many index entries under an old snapshot
CREATE FUNCTION met(turns integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    entries constant text := 'SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid)) FROM pg_index WHERE indrelid = ''fairway.channel_accounts''::regclass';
    before bigint;
    after bigint;
BEGIN
    EXECUTE entries INTO before;
    PERFORM turn() FROM generate_series(1, turns);
    EXECUTE entries INTO after;
    RETURN after - before;
END $$;
BEGIN;
SELECT met(20) AS first, met(120) AS more, met(20) AS last \gset
SELECT pg_relation_size('fairway.channel_accounts') / 16 > 16000 AS grown, :last BETWEEN 1 AND :first * 3 / 2 AS same;
ROLLBACK;
VACUUM FULL fairway.channel_accounts;

-- DX9: claims walk along the index while there are few versions, and look each slot up while there are many
CREATE FUNCTION scans() RETURNS bigint LANGUAGE sql AS $$
    SELECT sum(pg_stat_get_xact_numscans(indexrelid)) FROM pg_index WHERE indrelid = 'fairway.channel_accounts'::regclass
$$;
CREATE FUNCTION make_versions(count integer) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    FOR i IN 1 .. count LOOP
        UPDATE fairway.channel_accounts SET lease_max_time = lease_max_time;
    END LOOP;
END $$;
BEGIN;
SELECT scans() AS before \gset
SELECT count(*) FROM fairway.claim_accounts(1000, '{}');
SELECT scans() - :before <= 4 AS walked;
SELECT leases('{0,1,2,3,4,5,6,7}');
SELECT make_versions(500);
SELECT scans() AS before \gset
SELECT count(*) FROM fairway.claim_accounts(1000, '{}');
SELECT scans() - :before >= 16 AS looked_up;

-- DX9: reads of the whole pool cost the same under an old snapshot
SELECT pg_relation_size('fairway.channel_accounts') / 8192 / 16 > 10 AS grown;
SELECT reads('SELECT count(*) FROM fairway.pool_accounts', 96), count(*) FROM fairway.pool_accounts;
INSERT INTO fairway.waiting VALUES (2, 100, 0, clock_timestamp());
SELECT reads('SELECT * FROM fairway.share_of_idle(1, 100, ''{}'')', 96), idle FROM fairway.share_of_idle(1, 100, '{}');
SELECT count(fairway.add_partitions(current_date - 12, current_date - 11));
SELECT reads('SELECT min(p.locked_at) FROM fairway.pool_accounts p', 96);
ROLLBACK;
VACUUM FULL fairway.channel_accounts;

-- DX9: the leases of a client are counted in a few pages under an old snapshot, as many versions as 20 seconds of leases leave
BEGIN;
SELECT fairway.lock_clients('{a}');
DO $$ BEGIN FOR i IN 1 .. 6000 LOOP UPDATE fairway.client_usage SET open_leases = i; END LOOP; END $$;
SELECT pg_relation_size('fairway.client_usage') > 200000 AS grown, reads('SELECT fairway.count_leases(''{a}'', 1)', 25);
ROLLBACK;

-- DX9: the share of a replica is read in a few pages though reports of waiting requests are not removed
BEGIN;
INSERT INTO fairway.waiting SELECT 2, 1, 0, now() - interval '11 s' FROM generate_series(1, 100000);
SELECT fairway.forget(1000000);
INSERT INTO fairway.waiting VALUES (2, 1, 1, clock_timestamp() + interval '0.9 s');
SELECT pg_relation_size('fairway.waiting') / 8192 > 500 AS grown, reads('SELECT * FROM fairway.share_of_idle(1, 1, ''{}'')', 40);
ROLLBACK;

-- DX9: a batch of fee bumps writes a client once, and its fees are read in a few pages under an old snapshot
CREATE FUNCTION bumps(base bigint) RETURNS bigint LANGUAGE sql AS $$ -- each raises the fee of its lease, so each counts
    SELECT count(*) FILTER (WHERE f.refused_by IS NULL) FROM (SELECT array_agg(bid_hash(base + n)) AS hashes, array_agg(lease_hash(0)) AS leases,
        array_agg(base + n) AS fees, array_agg(account(0)) AS sources, array_agg('a'::text) AS clients, array_agg(0::bigint) AS none,
        array_agg(9000::bigint) AS most FROM generate_series(1::bigint, 64) n) a,
        fairway.record_fee_bumps(a.hashes, a.leases, a.fees, a.sources, a.clients, a.none, a.most) f
$$;
CREATE FUNCTION written(OUT writes bigint, OUT stroops bigint) LANGUAGE sql AS $$
    SELECT pg_stat_get_xact_tuples_inserted(t) + pg_stat_get_xact_tuples_updated(t), c.stroops
    FROM fairway.client_fees c, CAST('fairway.client_fees'::regclass AS oid) t
$$;
BEGIN;
SELECT lease(0, 'a');
SELECT bumps(1000);
SELECT * FROM written();
SELECT bumps(2000);
SELECT * FROM written();
DO $$ BEGIN FOR i IN 1 .. 6000 LOOP UPDATE fairway.client_fees SET stroops = i; END LOOP; END $$;
SELECT pg_relation_size('fairway.client_fees') > 200000 AS grown, reads($$SELECT fairway.record_fee_bumps(ARRAY[bid_hash(1)], ARRAY[lease_hash(0)],
    '{9000}', ARRAY[account(0)], '{a}', '{0}', '{20000}')$$, 80);
ROLLBACK;
