-- Inserts settled leases like real ones, spread evenly over the last 7 days, with their results and fee bumps.
-- Every lease of today and yesterday (UTC) has an Idempotency-Key. psql variables:
--   rows    number of leases in the 7 days
--   old     number of leases of an older day, which housekeeping has to drop when leases are kept for 7 days
--   stale   number of leases before yesterday that still have a key, which housekeeping has to drop
--   client  name of their client
--   digest  hex SHA-256 of the request body of leases with an even number; the others have another body
-- Lease number n, counted from the newest, has the hash sha256('history n') and, if any, the key 'history-n'. Request id: 'history'.
-- For speed, triggers are off.
BEGIN;
SET LOCAL session_replication_role = replica;
SET LOCAL statement_timeout = 0;
SET LOCAL timezone = 'UTC';
CREATE TEMPORARY TABLE history ON COMMIT DROP AS
    SELECT n, sha256(convert_to('history ' || n, 'UTF8')) AS hash,
        CASE WHEN n < :rows THEN now() - interval '1 minute' - n * (interval '7 days' - interval '2 minutes') / :rows
            ELSE date_trunc('day', now() - interval '7 days') - interval '1 minute' - (n - :rows) * interval '10 ms'
            END - interval '5 seconds' AS granted_at
    FROM generate_series(0, :rows::int8 + :old - 1) n;
SELECT fairway.add_partitions(min(granted_at)::date, current_date) FROM history;
WITH pool AS MATERIALIZED (
    SELECT array_agg(a.public_key ORDER BY a.public_key) AS keys, count(*)::int8 AS size
    FROM fairway.channel_accounts a WHERE a.state = 'active'
)
INSERT INTO fairway.leases (hash, account, sequence, sequence_ledger, client, envelope, max_time, request_id, granted_at)
SELECT h.hash, pool.keys[h.n % pool.size + 1], :rows - h.n, 1, :'client', decode(repeat(md5(h.n::text), 15), 'hex'),
    floor(extract(epoch FROM h.granted_at))::int8 + 20, 'history', h.granted_at
FROM history h, pool;
INSERT INTO fairway.lease_results (hash, granted_at, settled_at, result, result_code, ledger, client, ended_ledger, place)
SELECT h.hash, h.granted_at, h.granted_at + interval '5 seconds',
    CASE WHEN h.n % 20 = 0 THEN 'expired' WHEN h.n % 50 = 1 THEN 'failed' ELSE 'confirmed' END,
    CASE WHEN h.n % 20 = 0 THEN NULL WHEN h.n % 50 = 1 THEN 'txFAILED' ELSE 'txSUCCESS' END, 1, :'client', 1, h.n
FROM history h;
INSERT INTO fairway.fee_bumps (hash, lease_hash, granted_at, fee, signed_at)
SELECT sha256(h.hash), h.hash, h.granted_at, 20000, h.granted_at FROM history h WHERE h.n % 20 <> 0;
INSERT INTO fairway.idempotency_keys (client, key, digest, lease_hash, granted_at)
SELECT :'client', 'history-' || h.n,
    CASE h.n % 2 WHEN 0 THEN decode(:'digest', 'hex') ELSE sha256(convert_to('another body ' || h.n, 'UTF8')) END, h.hash, h.granted_at
FROM history h
WHERE h.n < :stale + (SELECT count(*) FROM history k WHERE k.granted_at >= current_date - 1);
COMMIT;
