-- The share of a replica in the idle accounts while these are short (DL7): by the waiting requests that all replicas have reported.
SELECT fill_pool(10);
-- What a claim of replica 1, in which so many requests wait, is told by reports of these replicas.
CREATE FUNCTION shares(mine bigint, replicas bigint[], waiting bigint[], taken bigint[], ago interval[]) RETURNS TABLE (idle bigint, share bigint) LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM fairway.waiting;
    INSERT INTO fairway.waiting SELECT r, w, t, statement_timestamp() - a FROM unnest(replicas, waiting, taken, ago) u (r, w, t, a);
    RETURN QUERY SELECT s.idle::bigint, s.share::bigint FROM fairway.share_of_idle(1, mine, '{}') s;
END $$;

-- DL7: its own report does not count
SELECT * FROM shares(4, '{1}', '{50}', '{0}', '{0 s}');

-- DL7: a share is in proportion to the newest reports, and at least one
SELECT n, s.* FROM unnest('{4,12,1}'::bigint[]) n, shares(n, '{2,2}', '{4,12}', '{0,0}', '{0.5 s,0.4 s}') s;
SELECT n, s.* FROM unnest('{1,3}'::bigint[]) n, shares(n, '{2,3}', '{12,1000}', '{0,0}', '{0 s,0 s}') s;

-- DL7: one account is left to ensure-accounts
SELECT n, s.* FROM unnest('{12,100}'::bigint[]) n, shares(n, '{0}', '{1}', '{0}', '{0 s}') s;

-- DL7: no more idle accounts are counted than requests, and none in an empty pool
SELECT * FROM shares(4, '{2,3}', '{0,1}', '{0,0}', '{0 s,0 s}');
BEGIN;
UPDATE fairway.channel_accounts SET state = 'retiring';
SELECT * FROM shares(4, '{2,3}', '{0,1}', '{0,0}', '{0 s,0 s}');
ROLLBACK;

-- DL7: a replica that claims after another one gets the same share, unless that claimed for another ledger
SELECT * FROM shares(20, '{2}', '{10}', '{10}', '{40 ms}');
SELECT * FROM shares(20, '{2}', '{10}', '{10}', '{60 ms}');

-- DL7: the report of a replica that stopped counts for a second, also when the clock was set back
SELECT * FROM shares(4, '{2}', '{1000}', '{0}', '{1001 ms}');
SELECT * FROM shares(4, '{2}', '{1000}', '{0}', '{900 ms}');
SELECT * FROM shares(4, '{2,3}', '{1000,1000}', '{0,0}', '{0 s,-1 hour}');
