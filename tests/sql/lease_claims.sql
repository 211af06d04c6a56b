-- Claims: which lease has the nonces of a call, and how long.
CREATE FUNCTION held() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(convert_from(c.claim, 'UTF8') || ' ' || a.n, ', ' ORDER BY c.claim, c.client) FROM fairway.lease_claims c
    JOIN generate_series(0, 11) a (n) ON lease_hash(a.n) = c.lease_hash AND account(a.n) = c.account
$$;
SELECT fill_pool(12);

-- DL9: a claim has one lease of a client; a batch with a claim of another lease is not recorded
SELECT leases('{0,1}', claims => '{A,BC}');
SELECT try($$SELECT leases('{2,3}', claims => '{D,EC}')$$), try($$SELECT leases('{2,3}', claims => '{D,D}')$$);
SELECT leases('{4}', '{x}', claims => '{A}');
SELECT held();
SELECT string_agg(slot::text, ' ' ORDER BY slot) FROM fairway.channel_accounts WHERE lease_hash IS NULL;

SELECT leases('{5,7}', '{y}', 2, claims => '{A,B}');

-- An end with which the network may have consumed the nonces keeps the claims; any other frees them
SELECT ledger(100);
SELECT settle(0, 'confirmed'), settle(1, 'failed'), settle(4, 'consumed'), settle(5, 'superseded'), settle(7, 'expired');
SELECT held();

-- A claim ends after the last ledger in which its entry counts; housekeeping deletes so many at a time
SELECT leases('{9,10,11}', claims => '{F,G,H}', until => 1003);
SELECT ledger(), ledger();
SELECT sequence, fairway.forget(2), held() FROM fairway.cursor;
SELECT ledger();
SELECT sequence, fairway.forget(2), fairway.forget(2), fairway.forget(2) FROM fairway.cursor;
SELECT held();
