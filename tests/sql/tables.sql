-- Accounts, leases and master keys: what constraints and triggers refuse, whoever asks.
SELECT fill_pool(6);

-- An account with part of a lease is rejected
SELECT part, try(format('UPDATE fairway.channel_accounts SET %s WHERE slot = 0', part)) FROM unnest(ARRAY['lease_hash = sha256('''')', 'locked_at = now()',
    'lease_hash = sha256(''''), locked_at = now()',
    'lease_client = ''''', 'lease_sequence = 1', 'lease_max_time = 1', 'lease_max_ledger = 1']) part;

-- A malformed account row is rejected
SELECT key, seed, try(format('INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, state)
        SELECT %s, 99, %s, key_id, ''creating'' FROM fairway.channel_accounts WHERE slot = 0', key, seed))
    FROM (VALUES ('''''', 'sealed_seed'), ('''not a key''', 'sealed_seed'), ('lower(public_key)', 'sealed_seed'), ('left(public_key, 55)', 'sealed_seed'),
        ('replace(public_key, ''G'', ''S'')', 'sealed_seed'), ('public_key', 'sealed_seed'), ('NULL', 'sealed_seed'), ('account(6)', ''''''),
        ('account(6)', 'substr(sealed_seed, 2)'), ('account(6)', 'NULL'), ('account(6)', 'sealed_seed')) w (key, seed);

-- H2: no lease is recorded on an account that has an open one, nor on one that is not of the pool any more
SELECT lease(0);
SELECT try('SELECT lease(1000)');
SELECT fairway.quarantine_accounts(ARRAY[account(1)], 'test');
SELECT try('SELECT lease(1)');
SELECT slot, lease_hash = lease_hash(slot) AS own FROM fairway.channel_accounts ORDER BY slot;
SELECT count(*) FROM fairway.leases;

-- Z6: an account row is never deleted
SELECT s, try(s) FROM unnest(ARRAY['DELETE FROM fairway.channel_accounts WHERE lease_hash IS NULL', 'DELETE FROM fairway.channel_accounts',
    'TRUNCATE fairway.channel_accounts CASCADE']) s;

-- A master key may be stored again, and at most one beside another: a rotation has two
SELECT n, try(format('SELECT fairway.store_master_key(%L, NULL, NULL)', n)) FROM unnest('{FFEE,00000000000000aa,00112233445566aa,0000000000000003,00000000000000aa}'::text[]) n;
SELECT try('SELECT fairway.store_master_key(''00112233445566aa'', ''short'', NULL)');
SELECT key_id FROM fairway.master_keys ORDER BY key_id;

-- H16: scaling down retires the exact number under any plan; a nested loop that ran the subquery for each row would retire more
UPDATE fairway.channel_accounts SET slot = 200 - slot;
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_hashagg = off; SET enable_material = off; SET enable_sort = off;
SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;
SELECT fairway.retire_accounts(2);
SELECT count(*) FROM fairway.channel_accounts WHERE state = 'retiring';
