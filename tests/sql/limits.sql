-- Limits of clients (DL8): how many leases a client may have open, together and for one contract. What replicas do at the same time is in
-- tests/integration/test_limits.
CREATE VIEW counted AS SELECT client, open_leases FROM fairway.client_usage ORDER BY client;
SELECT fill_pool(40);

-- DL8: a batch that would give a client more than its limit is not recorded: when it runs again, it refuses what is above
SELECT leases('{0,1,2}', '{full}', 3);
SELECT try($$SELECT leases('{3,4}', '{full,other}', 3)$$), try($$SELECT leases('{5,6,7,8}', '{few}', 3)$$);
SELECT leases('{3,4}', '{other}', 2);
SELECT * FROM counted;

-- DL8: each client is counted, nobody is not, and an end gives back
SELECT leases('{9,10,11}', '{unlimited,unlimited,""}');
SELECT * FROM counted WHERE client IN ('unlimited', '');
SELECT settle(9, 'confirmed'), settle(11, 'failed');
SELECT * FROM counted WHERE client IN ('unlimited', '');

-- DL8: each contract of a client has its share of the pool, and all leases count for the client
SELECT leases('{20,21,22,23,24,26,27,28}', '{a,a,a,a,a,a,a,b}', 0, '{C1,C1,C2,C1,C1,C2,NULL,C1}', 4);
SELECT try($$SELECT leases('{30,31}', '{a}', 0, '{C3,C1}', 4)$$), try($$SELECT leases('{30,31,32}', '{a}', 9, '{C3}', 4)$$);
SELECT leases('{32,33}', '{a}', 9, '{C3,C4}', 4);
SELECT * FROM counted WHERE client ~ '^(a|b)';

-- DL8: when the last lease of a contract ends, its row goes
SELECT count(settle(n, 'confirmed')) FROM unnest('{20,21,22,23,24,26,27,28,32}'::int[]) n;
SELECT * FROM counted WHERE client ~ '^(a|b)';

-- DL8: a lease is given back where it was counted, whatever the limits are then
SELECT leases('{1020,1021}', '{a}'); -- without the limit
SELECT leases('{1022,1023}', '{a}', 0, '{C1}', 4), try($$SELECT leases('{1024,1025,1026}', '{a}', 0, '{C1}', 4)$$);
SELECT leases('{1024,1025}', '{a}', 0, '{C1}', 4);
SELECT * FROM counted WHERE client ~ '^a';
SELECT settle(1020, 'failed'), settle(1021, 'failed'), settle(1022, 'failed');
SELECT * FROM counted WHERE client ~ '^a';
SELECT settle(1023, 'failed'), settle(1024, 'failed'), settle(1025, 'failed');
SELECT * FROM counted WHERE client ~ '^a';
