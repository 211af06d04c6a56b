-- Claims of accounts and of submissions: how many rows they take and how many pages they read, in a large pool and with any statistics.
SELECT fill_pool(2);
SELECT no_autovacuum();
ANALYZE;
INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, sequence, sequence_ledger, state)
    SELECT 'G' || translate(lpad(n::text, 55, '0'), '0189', 'WXYZ'), n, sealed_seed, key_id, 100, 1000, 'active'
    FROM fairway.channel_accounts, generate_series(2, 4999) n WHERE slot = 0;
-- Leases all accounts except every nth one.
CREATE FUNCTION fill(nth integer) RETURNS void LANGUAGE sql AS $$
    UPDATE fairway.channel_accounts a SET (lease_hash, lease_client, lease_sequence, lease_max_time, locked_at) =
        (SELECT lease_hash(a.slot), '', 1, 1, now() WHERE a.slot % nth <> 0)
$$;

-- DX10: a claim reads only the accounts that it passes, with the statistics of two accounts
SELECT fill(1), reads('SELECT * FROM fairway.claim_accounts(32, ''{}'')', 150);
SELECT fill(5), reads('SELECT * FROM fairway.claim_accounts(32, ''{}'')', 200);
SELECT fill(20), reads('SELECT * FROM fairway.claim_accounts(32, ''{}'')', 400);
SELECT fill(100), reads('SELECT * FROM fairway.claim_accounts(32, ''{}'')', 1500);

-- H16: a claim takes exactly what it wants, or all idle accounts
CREATE FUNCTION claim(most integer) RETURNS bigint LANGUAGE sql AS $$ SELECT count(DISTINCT public_key) FROM fairway.claim_accounts(most, '{}') $$;
SELECT claim(32), claim(64), count(*) FROM generate_series(1, 20) GROUP BY 1, 2;

-- A claim starts at a random slot
SELECT fill(1);
SELECT count(DISTINCT slot / 500) FROM generate_series(1, 200) i, fairway.claim_accounts(1 + 0 * i, '{}') JOIN fairway.channel_accounts USING (public_key);
UPDATE fairway.channel_accounts SET lease_hash = NULL, lease_client = NULL, lease_sequence = NULL, lease_max_time = NULL, locked_at = NULL;

-- H16: a claim of submissions takes no more than it wants, in a session that has planned while the table was empty, as it mostly is
CREATE FUNCTION claims(said text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    claimed text := said;
BEGIN
    PERFORM fairway.claim_submissions(64, 300, 0, 1000000);
    INSERT INTO fairway.submissions (lease_hash, client, granted_at, inner_digest, max_fee, stroops_max, bid, bid_hash, round_ledger, due_ledger)
        SELECT lease_hash(n), '', now(), sha256(''), 1, 0, 1, bid_hash(n), sequence, sequence FROM fairway.cursor, generate_series(1, 200) n;
    FOR i IN 1 .. 5 LOOP
        claimed := claimed || ' ' || (SELECT count(*) FROM fairway.claim_submissions(64, 300, 0, 1000000));
    END LOOP;
    DELETE FROM fairway.submissions;
    RETURN claimed;
END $$;
VACUUM (ANALYZE) fairway.submissions;
SELECT claims('analyzed');
VACUUM (ANALYZE) fairway.submissions;
SELECT say(0), claims('empty');
SELECT say(1), claims('one row');
SELECT say(100000000, 1), claims('many');
