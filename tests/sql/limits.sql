-- Limits of clients (DL8): how many leases a client may have open, together and for one contract. What replicas do at once is in
-- tests/integration/test_limits.
SELECT fill_pool(40);

-- DL8: a client above its limit fails no lease of another
SELECT leases('{0,1,2}', '{full}', 3);
SELECT leases('{3,4}', '{full,other}', 1);
SELECT client, open_leases FROM fairway.client_usage ORDER BY client;

-- DL8: a batch records what is left of a limit, its first items
SELECT leases('{5,6,7,8}', '{few}', 2);

-- DL8: each client is counted, nobody is not, and an end gives back
SELECT leases('{9,10,11}', '{unlimited,unlimited,""}');
SELECT client, open_leases FROM fairway.client_usage WHERE client IN ('unlimited', '');
SELECT settle(9, 'confirmed'), settle(11, 'failed');
SELECT client, open_leases FROM fairway.client_usage WHERE client IN ('unlimited', '');
