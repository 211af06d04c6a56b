-- How many of the idle accounts a replica may take, in which so many requests wait (mine): in proportion to the requests that wait in all
-- replicas, rounded up, so that no account is reserved against a replica that asks. Accounts that other replicas have just taken count as
-- idle, and their requests as waiting: so replicas that claim one after another, when a ledger has released accounts, get equal shares.
-- idle: accounts, at most as many as requests wait. When no other replica reports waiting requests, they are not counted, because that
-- costs as much as claiming them: idle is -1. keys: of the master keys that the caller has; empty: all. ensure-accounts reports as replica 0:
-- one account is left to it.
CREATE OR REPLACE FUNCTION fairway.share_of_idle(me bigint, mine bigint, keys text[], OUT idle bigint, OUT share bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    others constant bigint := (SELECT sum(w.waiting) FROM fairway.waiting_now w WHERE w.replica <> me);
    taken bigint;
BEGIN
    idle := -1;
    share := mine;
    IF others > 0 THEN
        SELECT count(*) INTO idle FROM (
            SELECT FROM fairway.pool_accounts a
            WHERE a.state = 'active' AND a.lease_hash IS NULL AND (keys = '{}' OR a.key_id = ANY (keys)) LIMIT mine + others) i;
        SELECT coalesce(sum(t.taken), 0) INTO taken FROM fairway.waiting t
            WHERE t.replica <> me AND t.seen_at BETWEEN statement_timestamp() - interval '50 ms' AND statement_timestamp();
        share := least(mine, ceil(greatest(0, idle + taken - (SELECT count(*) FROM fairway.waiting_now w WHERE w.replica = 0))
            * mine::numeric / (mine + others + taken)));
    END IF;
END $$;
