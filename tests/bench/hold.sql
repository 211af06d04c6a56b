-- Occupies exactly `held` accounts (a psql variable) with open leases that end in a year: those with the lowest addresses, whose slots are
-- spread over the pool. Request id: 'held'. public.bench_held has the highest of these addresses; feed_ledgers leaves them leased.
BEGIN;
SET LOCAL session_replication_role = replica;
UPDATE fairway.channel_accounts SET lease_hash = NULL, lease_client = NULL, lease_sequence = NULL, lease_max_time = NULL,
    lease_max_ledger = NULL, locked_at = NULL WHERE public_key <= (SELECT up_to FROM public.bench_held);
DELETE FROM fairway.leases WHERE request_id = 'held';
UPDATE public.bench_held SET up_to = coalesce((SELECT max(h.public_key)
    FROM (SELECT public_key FROM fairway.channel_accounts ORDER BY public_key LIMIT :held) h), '');
INSERT INTO fairway.leases (hash, account, sequence, sequence_ledger, client, envelope, max_time, request_id, granted_at)
SELECT sha256(convert_to('held ' || a.public_key, 'UTF8')), a.public_key, a.sequence + 1, a.sequence_ledger, '',
    decode(repeat(md5(a.public_key), 15), 'hex'), floor(extract(epoch FROM now() + interval '1 year'))::int8, 'held', now()
FROM fairway.channel_accounts a WHERE a.public_key <= (SELECT up_to FROM public.bench_held);
UPDATE fairway.channel_accounts a SET lease_hash = l.hash, lease_client = l.client, lease_sequence = l.sequence,
    lease_max_time = l.max_time, locked_at = l.granted_at
FROM fairway.leases l WHERE l.request_id = 'held' AND l.account = a.public_key;
COMMIT;
VACUUM (ANALYZE) fairway.channel_accounts, fairway.leases;
