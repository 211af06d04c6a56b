-- What holds between accounts, leases, results, fee bumps, submissions, idempotency keys and claims in every snapshot. Each row is a rule that is broken, and by
-- what. Integration tests, the storm and the soak run this; it reads everything.
WITH held AS MATERIALIZED (SELECT * FROM fairway.channel_accounts a WHERE a.lease_hash IS NOT NULL),
    ended AS MATERIALIZED (SELECT r.* FROM fairway.lease_results r),
    counted AS MATERIALIZED (
        SELECT u.client, count(*) AS leases
        FROM held h CROSS JOIN LATERAL (VALUES (h.lease_client), (fairway.contract_row(h.lease_client, h.lease_contract))) u (client)
        WHERE u.client <> '' GROUP BY u.client)
SELECT 'an account and the lease that it names differ' AS rule, h.public_key::text AS item
FROM held h LEFT JOIN fairway.leases l ON l.hash = h.lease_hash AND l.granted_at = h.locked_at
WHERE (l.account, l.client, l.sequence, l.max_time, l.max_ledger)
    IS DISTINCT FROM (h.public_key::text, h.lease_client, h.lease_sequence, h.lease_max_time, h.lease_max_ledger)
UNION ALL
SELECT 'an account names a lease that has ended', h.public_key
FROM held h JOIN ended e ON e.hash = h.lease_hash AND e.granted_at = h.locked_at
UNION ALL
SELECT 'no account names an open lease', encode(l.hash, 'hex')
FROM fairway.leases l
LEFT JOIN ended e ON e.hash = l.hash AND e.granted_at = l.granted_at
LEFT JOIN held h ON h.lease_hash = l.hash AND h.public_key = l.account AND h.locked_at = l.granted_at
WHERE e.hash IS NULL AND h.lease_hash IS NULL
UNION ALL
SELECT 'a result is of no lease', encode(e.hash, 'hex')
FROM ended e LEFT JOIN fairway.leases l ON l.hash = e.hash AND l.granted_at = e.granted_at WHERE l.hash IS NULL
UNION ALL
SELECT 'a lease expired before a ledger excluded it', encode(e.hash, 'hex')
FROM ended e
JOIN fairway.leases l ON l.hash = e.hash AND l.granted_at = e.granted_at
JOIN fairway.ledgers g ON g.sequence = e.ledger
WHERE e.result = 'expired' AND g.close_time <= l.max_time AND coalesce(l.max_ledger > e.ledger + 1, true)
UNION ALL
SELECT 'a fee bump is of no lease', encode(b.hash, 'hex')
FROM fairway.fee_bumps b LEFT JOIN fairway.leases l ON l.hash = b.lease_hash AND l.granted_at = b.granted_at WHERE l.hash IS NULL
UNION ALL
SELECT 'a submission is of no open lease, or its bid is not recorded', encode(s.lease_hash, 'hex')
FROM fairway.submissions s
LEFT JOIN held h ON h.lease_hash = s.lease_hash AND h.locked_at = s.granted_at AND h.lease_client = s.client
LEFT JOIN fairway.fee_bumps b ON b.hash = s.bid_hash AND b.lease_hash = s.lease_hash AND b.granted_at = s.granted_at AND b.fee = s.bid
WHERE h.lease_hash IS NULL OR b.hash IS NULL
UNION ALL
SELECT 'a submission without its bytes, or bytes without a submission', encode(lease_hash, 'hex')
FROM fairway.submissions FULL JOIN fairway.bids b USING (lease_hash) WHERE submissions.bid IS NULL OR b.envelope IS NULL
UNION ALL
SELECT 'a submission bids more than its cap', encode(s.lease_hash, 'hex') FROM fairway.submissions s WHERE s.bid > s.max_fee
UNION ALL
SELECT 'a key is of no lease', k.client || '/' || k.key
FROM fairway.idempotency_keys k LEFT JOIN fairway.leases l ON l.hash = k.lease_hash AND l.granted_at = k.granted_at AND l.client = k.client
WHERE l.hash IS NULL
UNION ALL
SELECT 'a key has two leases within two days', k.client || '/' || k.key
FROM fairway.idempotency_keys k
JOIN fairway.idempotency_keys n ON n.client = k.client AND n.key = k.key AND n.lease_hash <> k.lease_hash
    AND (n.granted_at AT TIME ZONE 'UTC')::date - (k.granted_at AT TIME ZONE 'UTC')::date IN (0, 1)
UNION ALL
SELECT 'a claim is of a lease that ended so that it is free', encode(c.claim, 'hex')
FROM fairway.lease_claims c JOIN ended e ON e.hash = c.lease_hash WHERE e.result NOT IN ('confirmed', 'consumed')
UNION ALL
SELECT 'the open leases of a client are counted wrongly', client
FROM fairway.client_usage u FULL JOIN counted c USING (client) WHERE coalesce(u.open_leases, 0) <> coalesce(c.leases, 0)
UNION ALL
SELECT 'a contract without open leases is counted', u.client
FROM fairway.client_usage u WHERE u.open_leases = 0 AND u.client LIKE fairway.contract_row('%', '%');
