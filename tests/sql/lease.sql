-- Which accounts are claimed, and what a recorded lease is.
CREATE FUNCTION claimed(wanted bigint, keys text[] DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(a.slot::text, ' ' ORDER BY a.slot) FROM fairway.claim_accounts(wanted, keys) c JOIN fairway.channel_accounts a ON a.public_key = c.public_key
$$;
SELECT fill_pool(12);

-- Idle accounts are claimed, as many as are wanted
SELECT count(lease(n)) FROM generate_series(0, 5) n;
SELECT claimed(100);
SELECT cardinality(string_to_array(claimed(4), ' '));

-- Only active accounts are claimed
UPDATE fairway.channel_accounts SET state = CASE slot WHEN 6 THEN 'quarantined' WHEN 7 THEN 'retiring' WHEN 8 THEN 'creating' ELSE 'retired' END,
    quarantine_reason = CASE slot WHEN 6 THEN 'test' END, slot = CASE WHEN slot < 9 THEN slot END WHERE slot BETWEEN 6 AND 9;
SELECT claimed(100);

-- DS2: accounts sealed under a key that the caller does not have are not claimed
INSERT INTO fairway.master_keys (key_id) VALUES ('00000000000000ff');
UPDATE fairway.channel_accounts SET key_id = '00000000000000ff' WHERE slot = 10;
SELECT claimed(100, '{00000000000000aa}'), claimed(100, '{00000000000000ff}'), claimed(100, '{ffffffffffffffff}'), claimed(100);

-- The same in a table that is many times as large as its pool
INSERT INTO fairway.channel_accounts (public_key, sealed_seed, key_id, sequence, sequence_ledger, state)
    SELECT account(n), decode(repeat('00', 72), 'hex'), '00000000000000aa', 100, 1000, 'retired' FROM generate_series(100, 399) n;
SELECT pg_relation_size('fairway.channel_accounts') > 12 * 16384;
SELECT claimed(100, '{00000000000000aa}'), claimed(100, '{00000000000000ff}'), claimed(100, '{ffffffffffffffff}'), claimed(100);

-- A lease has its account's next sequence number, and both rows refer to each other
SELECT settle(0, 'confirmed');
SELECT lease(1000);
SELECT l.sequence, l.sequence_ledger, l.request_id, l.max_ledger, a.lease_hash = l.hash AND a.locked_at = l.granted_at
        AND a.lease_max_time = l.max_time AND l.granted_at BETWEEN now() - interval '1 min' AND clock_timestamp()
    FROM fairway.leases l JOIN fairway.channel_accounts a ON a.public_key = l.account WHERE l.hash = lease_hash(1000);

-- H2: a batch with an account that is not idle records nothing
SELECT leases('{10,1001}');
SELECT count(*) FROM fairway.leases;

-- H5: the ledger that ends a lease writes the sequence number that it consumed
SELECT settle(1, 'failed');
SELECT sequence, lease_hash, lease_max_time FROM fairway.channel_accounts WHERE slot = 1;

-- DL9: a key that has a lease takes no second one, whoever is its client
SELECT lease(10, 'a', 'key'), lease(11, 'b', 'key');
\set VERBOSITY sqlstate
SELECT lease(1001, 'a', 'key');
\set VERBOSITY terse

-- A cursor from before the ends that were dropped with their day is known to be too old, whichever client they are of
SELECT ledger(70);
SELECT fairway.add_partitions(current_date - 9, current_date - 9);
SELECT settle(2, 'expired'), settle(10, 'expired'), settle(11, 'expired');
SET session_replication_role = replica;
UPDATE fairway.lease_results SET granted_at = granted_at - interval '9 days', ended_ledger = CASE client WHEN 'b' THEN 990 ELSE 995 END WHERE client <> '';
UPDATE fairway.leases SET granted_at = granted_at - interval '9 days' WHERE client <> '';
UPDATE fairway.idempotency_keys SET granted_at = granted_at - interval '9 days';
SET session_replication_role = origin;
SELECT fairway.drop_history('7 days');
SELECT ended_ledger FROM fairway.dropped_ends;
