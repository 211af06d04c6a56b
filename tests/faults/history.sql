-- Inserts settled leases like real ones, spread evenly over the 7 days for which they are kept, with their fee bumps.
-- Every lease of the last 24 hours has an Idempotency-Key. psql variables:
--   rows    number of leases in the 7 days
--   old     number of older leases, which the janitor has to delete
--   stale   number of leases before the last 24 hours that still have a key, which the janitor has to remove
--   client  name of their client
--   digest  hex SHA-256 of the request body of leases with an even number; the others have another body
-- Lease number n, counted from the newest, has the hash sha256('history n') and, if any, the key 'history-n'. Request id: 'history'.
-- For speed, triggers and foreign keys are off.
BEGIN;
SET LOCAL session_replication_role = replica;
SET LOCAL statement_timeout = 0;
WITH pool AS MATERIALIZED (
    SELECT array_agg(a.public_key ORDER BY a.public_key) AS keys, count(*)::int8 AS size
    FROM fairway.channel_accounts a WHERE a.state = 'active'
), made AS MATERIALIZED (
    SELECT n, CASE WHEN n < :rows THEN interval '1 minute' + n * (interval '7 days' - interval '2 minutes') / :rows
        ELSE interval '7 days' + (n - :rows) * interval '100 ms' END AS age
    FROM generate_series(0, :rows::int8 + :old - 1) n
), keyed AS MATERIALIZED (
    SELECT count(*) + :stale AS count FROM made WHERE age < interval '24 hours' - interval '5 seconds'
)
INSERT INTO fairway.leases (hash, account, sequence, sequence_ledger, client, idempotency_key, request_digest, envelope, max_time,
    request_id, granted_at, settled_at, result, result_code, ledger)
SELECT sha256(convert_to('history ' || n, 'UTF8')), pool.keys[n % pool.size + 1], :rows - n, 1, :'client',
    CASE WHEN n < keyed.count THEN 'history-' || n END,
    CASE WHEN n < keyed.count THEN
        CASE n % 2 WHEN 0 THEN decode(:'digest', 'hex') ELSE sha256(convert_to('another body ' || n, 'UTF8')) END END,
    decode(repeat(md5(n::text), 15), 'hex'),
    floor(extract(epoch FROM now() - age))::int8 + 15, 'history', now() - age - interval '5 seconds', now() - age,
    CASE WHEN n % 20 = 0 THEN 'expired' WHEN n % 50 = 1 THEN 'failed' ELSE 'confirmed' END,
    CASE WHEN n % 20 = 0 THEN NULL WHEN n % 50 = 1 THEN 'txFAILED' ELSE 'txSUCCESS' END, 1
FROM made, pool, keyed;
INSERT INTO fairway.fee_bumps (hash, lease_hash, fee, signed_at)
SELECT sha256(l.hash), l.hash, 20000, l.granted_at FROM fairway.lease_history l WHERE l.request_id = 'history' AND l.result <> 'expired';
COMMIT;
