-- What a grant asks the database, as functions. A server session plans each once, behind a pooler too, and no plan depends on
-- statistics: the settings of each function leave one plan that is possible, by the index that its comment names.

-- Locks up to wanted idle accounts. Walks the slots upwards from a random one, and once more from the first, through the unique
-- index on slot: the cost is that of the accounts that are passed, and not that of the pool. keys: of the master keys that the
-- caller has; empty: all.
CREATE FUNCTION fairway.claim_accounts(wanted bigint, keys text[])
RETURNS TABLE (public_key text, sequence bigint, sequence_ledger bigint, sealed_seed bytea, key_id text)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    first integer := floor(random() * (SELECT max(a.slot) + 1 FROM fairway.channel_accounts a));
    locked bigint;
BEGIN
    RETURN QUERY
        SELECT a.public_key, a.sequence, a.sequence_ledger, a.sealed_seed, a.key_id FROM fairway.channel_accounts a
        WHERE a.slot >= first AND a.state = 'active' AND a.lease_hash IS NULL AND (keys = '{}' OR a.key_id = ANY (keys))
        ORDER BY a.slot LIMIT wanted FOR UPDATE SKIP LOCKED;
    GET DIAGNOSTICS locked = ROW_COUNT;
    IF locked < wanted THEN
        RETURN QUERY
            SELECT a.public_key, a.sequence, a.sequence_ledger, a.sealed_seed, a.key_id FROM fairway.channel_accounts a
            WHERE a.slot < first AND a.state = 'active' AND a.lease_hash IS NULL AND (keys = '{}' OR a.key_id = ANY (keys))
            ORDER BY a.slot LIMIT wanted - locked FOR UPDATE SKIP LOCKED;
    END IF;
END $$;

-- The leases that were taken with these idempotency keys; ordinal says with which. Through the unique index leases_idempotency,
-- one row a key: the order that is asked for admits no other index. (An equality would: one on idempotency keys of a certain age
-- looks as cheap while statistics say that there are none.)
CREATE FUNCTION fairway.find_keys(clients text[], keys text[])
RETURNS TABLE (ordinal bigint, hash bytea, account text, sequence bigint, sequence_ledger bigint, max_time bigint,
    envelope bytea, request_digest bytea)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
        SELECT n.ordinal, l.hash, l.account, l.sequence, l.sequence_ledger, l.max_time, l.envelope, l.request_digest
        FROM unnest(clients, keys) WITH ORDINALITY AS n (client, key, ordinal)
        CROSS JOIN LATERAL (
            SELECT * FROM fairway.leases m
            WHERE m.idempotency_key IS NOT NULL AND (m.client, m.idempotency_key) >= (n.client, n.key)
            ORDER BY m.client, m.idempotency_key LIMIT 1) l
        WHERE l.client = n.client AND l.idempotency_key = n.key;
END $$;

-- While accounts are short, each replica says here since when its requests wait, the longest first, and takes those accounts that
-- are due to it. A row that has not been written for two seconds does not count: its replica is gone. Nothing here outlives a
-- crash, and nothing needs to.
CREATE UNLOGGED TABLE fairway.waiting (
    replica bigint PRIMARY KEY, -- a random number
    since   timestamptz[] NOT NULL,
    seen_at timestamptz NOT NULL
);

-- Writes the replica's row, and says how many of the idle accounts are due to this replica. Who has waited longest comes first; those
-- of the same second are interleaved in proportion to their numbers, so that a replica whose requests are always a little younger
-- gets its share too. waited_ms: of its requests, the longest first. idle: accounts, at most waiting + 64; waiting: requests in all replicas. When no other replica
-- stands in line, idle accounts are not counted, which would cost as much as claiming them: idle is -1, and all are due to this one.
CREATE FUNCTION fairway.share_of_idle(me bigint, waited_ms bigint[], keys text[],
    OUT idle bigint, OUT waiting bigint, OUT share bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    moment timestamptz := clock_timestamp();
BEGIN
    INSERT INTO fairway.waiting (replica, since, seen_at)
        VALUES (me, ARRAY(SELECT moment - make_interval(secs => w / 1000.0) FROM unnest(waited_ms) w), moment)
        ON CONFLICT (replica) DO UPDATE SET since = excluded.since, seen_at = excluded.seen_at;
    DELETE FROM fairway.waiting w WHERE w.replica = ANY (ARRAY(
        SELECT g.replica FROM fairway.waiting g WHERE g.seen_at < moment - interval '10 s' FOR UPDATE SKIP LOCKED));
    SELECT coalesce(sum(cardinality(w.since)), 0) INTO waiting FROM fairway.waiting w
        WHERE w.seen_at > moment - interval '2 s';
    IF waiting = cardinality(waited_ms) THEN
        idle := -1;
        share := waiting;
        RETURN;
    END IF;
    SELECT count(*) INTO idle FROM (
        SELECT FROM fairway.channel_accounts a
        WHERE a.slot >= 0 AND a.state = 'active' AND a.lease_hash IS NULL AND (keys = '{}' OR a.key_id = ANY (keys))
        LIMIT waiting + 64) i;
    SELECT count(*) FILTER (WHERE d.replica = me) INTO share FROM (
        SELECT q.replica FROM (
            SELECT w.replica, s.place, floor(extract(epoch FROM s.since)) AS second,
                count(*) OVER same AS size, row_number() OVER (same ORDER BY s.place) AS rank
            FROM fairway.waiting w, unnest(w.since) WITH ORDINALITY AS s (since, place)
            WHERE w.seen_at > moment - interval '2 s'
            WINDOW same AS (PARTITION BY w.replica, floor(extract(epoch FROM s.since)))) q
        ORDER BY q.second, (q.rank - 0.5) / q.size, q.replica LIMIT idle) d;
END $$;
