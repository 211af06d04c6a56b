-- Limits of clients on fee bumps (DL8): how many a lease may have, and what those of a day may cost. What replicas do at the same time is in
-- tests/integration/test_limits.
-- Records fee bumps in one batch, and tells what became of each.
CREATE FUNCTION bumps(leases bigint[], numbers bigint[], fees bigint[], bumps_max bigint DEFAULT 0, stroops_max bigint DEFAULT 0) RETURNS text LANGUAGE sql AS $$
    WITH i AS (SELECT u.*, a.lease_client FROM unnest(leases, numbers, fees) WITH ORDINALITY u (lease, number, fee, nth)
            LEFT JOIN fairway.channel_accounts a ON a.public_key = account(u.lease)),
        r AS (SELECT r.* FROM (SELECT array_agg(bid_hash(number) ORDER BY nth) AS hashes, array_agg(lease_hash(lease) ORDER BY nth) AS leases,
                array_agg(fee ORDER BY nth) AS fees, array_agg(account(lease) ORDER BY nth) AS sources,
                array_agg(coalesce(lease_client, '') ORDER BY nth) AS clients, array_agg(bumps_max) AS most, array_agg(stroops_max) AS cost FROM i) b
            CROSS JOIN LATERAL fairway.record_fee_bumps(b.hashes, b.leases, b.fees, b.sources, b.clients, b.most, b.cost) r)
    SELECT string_agg(CASE WHEN r.ordinal IS NULL THEN 'ended' ELSE coalesce(r.refused_by, 'recorded') END, ' ' ORDER BY i.nth)
    FROM i LEFT JOIN r ON r.ordinal = i.nth
$$;
CREATE VIEW spent AS SELECT client, stroops FROM fairway.client_fees ORDER BY client;
SELECT fill_pool(20);

-- DL8: each fee bump with another hash counts, also one with the same fee
SELECT lease(0);
SELECT bumps('{0,0,0}', '{1,1,2}', '{20000,20000,20000}', 2);
SELECT bumps('{0,0,0}', '{3,4,1}', '{20000,30000,20000}', 2);
SELECT count(*) FROM fairway.fee_bumps;

-- DL8: what fairway raises counts in no number, and a raise is not refused by it
SELECT lease(19);
SELECT bumps('{19}', '{5}', '{20000}', 1);
SELECT refused_by FROM fairway.record_fee_bumps(ARRAY[bid_hash(6), bid_hash(7)], array_fill(lease_hash(19), '{2}'), '{20001,20002}',
    array_fill(account(19), '{2}'), '{"",""}', '{0,1}', '{0,0}', ARRAY[bid_hash(5), NULL]);
SELECT bumps('{19}', '{8}', '{20003}', 2);

-- DL8: batches in opposite orders record all, and of a lease the highest fee bump counts
SELECT leases('{1,2}', '{a,b}');
SELECT bumps('{1,2}', '{10,11}', '{20000,20000}', 0, 1000000);
SELECT bumps('{2,1}', '{12,13}', '{20010,20010}', 0, 1000000);
SELECT * FROM spent;

-- DL8: the fee bumps of a client cost no more than its limit of a day, each batch as a whole
SELECT leases('{3,4,5}', '{c}');
SELECT bumps('{3,4,5,3}', '{20,21,22,23}', '{20000,20000,10001,30000}', 0, 50000);
SELECT * FROM spent WHERE client = 'c';

-- DL8: a session whose day is over forgets nothing of the new day
SELECT lease(6, 'late');
INSERT INTO fairway.client_fees VALUES ('late', (now() AT TIME ZONE 'UTC')::date + 1, 40000);
SELECT bumps('{6}', '{30}', '{20000}', 0, 50000), bumps('{6}', '{31}', '{10000}', 0, 50000);
SELECT * FROM spent WHERE client = 'late';

-- DL8: what the fee bumps of the day before cost is forgotten
UPDATE fairway.client_fees SET day = day - 2 WHERE client = 'late';
SELECT bumps('{6}', '{32}', '{45000}', 0, 50000);
SELECT * FROM spent WHERE client = 'late';

-- A lease that has ended gets none
SELECT settle(6, 'confirmed', fee => 200);
SELECT bumps('{6}', '{33}', '{50000}');

-- DL8: a lease that has ended counts with the fee that was charged (0: not known) on the day of its bids
CREATE FUNCTION counted(n bigint, result text, charged bigint, yesterday boolean, second bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
    PERFORM lease(n, 'e'), bumps(ARRAY[n], ARRAY[2 * n + 100], '{20000}', 0, 1000000);
    IF yesterday THEN
        SET LOCAL session_replication_role = replica;
        UPDATE fairway.fee_bumps SET signed_at = signed_at - interval '1 day' WHERE lease_hash = lease_hash(n);
        SET LOCAL session_replication_role = origin;
        UPDATE fairway.client_fees SET stroops = stroops - 20000 WHERE client = 'e';
    END IF;
    PERFORM bumps(ARRAY[n], ARRAY[2 * n + 101], ARRAY[second], 0, 1000000) WHERE second > 0;
    PERFORM settle(n, result, fee => charged);
    RETURN (SELECT sum(stroops) FROM spent WHERE client = 'e');
END $$;
SELECT counted(7, 'failed', 200, false, 0) AS "200";
SELECT counted(8, 'confirmed', 15000, false, 30000) AS "+15000";
SELECT counted(9, 'superseded', 0, false, 30000) AS "+0";
SELECT counted(10, 'consumed', 0, false, 0) AS "+20000";
SELECT counted(11, 'confirmed', 0, false, 0) AS "+20000";
SELECT counted(12, 'confirmed', 25000, true, 30000) AS "+5000";
SELECT counted(13, 'confirmed', 200, true, 30000) AS "+0";
SELECT counted(14, 'confirmed', 200, true, 0) AS "+0";
