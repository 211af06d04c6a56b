-- How replicas that are short of accounts share them.

-- As in 0024, but the accounts go to the requests of all replicas in the order of `since` alone. In 0024 the requests of one second
-- alternated in proportion to their numbers, which every grant changed: what the first replica to claim left was divided once more, and a
-- replica that claimed a little later got hardly any. A replica now publishes the time of a request's turn, which is a little later than its
-- arrival (see grant_sharing in include/grant/grant.h), and no grant changes the turns of the requests that wait on.
-- waited_ms: how long ago the turns of the replica's waiting requests were, the earliest turn first; negative for turns to come.
CREATE OR REPLACE FUNCTION fairway.share_of_idle(me bigint, waited_ms bigint[], keys text[],
    OUT idle bigint, OUT waiting bigint, OUT share bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
    seconds constant bigint := floor(extract(epoch FROM moment));
    this_period constant bigint := seconds / 10;
    first_period constant bigint := (seconds - 2) / 10;
    slots bigint;
    few_versions boolean;
BEGIN
    IF NOT EXISTS (SELECT FROM fairway.waiting w WHERE w.period = this_period AND w.replica = me) THEN
        DELETE FROM fairway.waiting w WHERE w.ctid = ANY (ARRAY(
            SELECT g.ctid FROM fairway.waiting g WHERE g.period < this_period - 1 FOR UPDATE SKIP LOCKED));
    END IF;
    INSERT INTO fairway.waiting (period, replica, since, seen_at)
        VALUES (this_period, me, ARRAY(SELECT moment - make_interval(secs => w / 1000.0) FROM unnest(waited_ms) w), moment)
        ON CONFLICT ON CONSTRAINT waiting_pkey DO UPDATE SET since = excluded.since, seen_at = excluded.seen_at;
    SELECT coalesce(sum(cardinality(l.since)), 0) INTO waiting FROM (
        SELECT DISTINCT ON (w.replica) w.since FROM fairway.waiting w
        WHERE w.period >= first_period AND w.seen_at > moment - interval '2 s' ORDER BY w.replica, w.seen_at DESC) l;
    IF waiting = cardinality(waited_ms) THEN
        idle := -1;
        share := waiting;
        RETURN;
    END IF;
    slots := (SELECT max(a.slot) + 1 FROM fairway.channel_accounts a);
    few_versions := pg_relation_size('fairway.channel_accounts') <= slots * 16384;
    IF NOT few_versions THEN
        few_versions := NOT (SELECT h.many_versions FROM fairway.housekeeping h);
    END IF;
    IF few_versions THEN
        SELECT count(*) INTO idle FROM (
            SELECT FROM fairway.channel_accounts a
            WHERE a.slot >= 0 AND a.state = 'active' AND a.lease_hash IS NULL AND (keys = '{}' OR a.key_id = ANY (keys))
            LIMIT waiting + 64) i;
    ELSE
        SELECT count(*) INTO idle FROM (
            SELECT FROM generate_series(0, slots - 1) n
            CROSS JOIN LATERAL (
                SELECT a.state, a.lease_hash, a.key_id FROM fairway.channel_accounts a
                WHERE a.slot BETWEEN n::integer AND n::integer ORDER BY a.slot DESC LIMIT 1) newest
            WHERE newest.state = 'active' AND newest.lease_hash IS NULL AND (keys = '{}' OR newest.key_id = ANY (keys))
            LIMIT waiting + 64) i;
    END IF;
    SELECT count(*) FILTER (WHERE d.replica = me) INTO share FROM (
        SELECT w.replica
        FROM (SELECT DISTINCT ON (l.replica) l.replica, l.since FROM fairway.waiting l
            WHERE l.period >= first_period AND l.seen_at > moment - interval '2 s' ORDER BY l.replica, l.seen_at DESC) w,
            unnest(w.since) AS s (since)
        ORDER BY s.since, w.replica LIMIT idle) d;
END $$;
