-- Writes the replica's row, and says how many of the idle accounts are due to this replica. Who has waited longest comes first; those
-- of the same second are interleaved in proportion to their numbers, so that a replica whose requests are always a little younger
-- gets its share too. waited_ms: of its requests, the longest first. idle: accounts, at most waiting + 64; waiting: requests in all replicas. When no other replica
-- stands in line, idle accounts are not counted, which would cost as much as claiming them: idle is -1, and all are due to this one.
CREATE OR REPLACE FUNCTION fairway.share_of_idle(me bigint, waited_ms bigint[], keys text[],
    OUT idle bigint, OUT waiting bigint, OUT share bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
    seconds constant bigint := floor(extract(epoch FROM moment));
    this_period constant bigint := seconds / 10;
    first_period constant bigint := (seconds - 2) / 10;
    turns constant timestamptz[] := ARRAY(SELECT moment - make_interval(secs => w / 1000.0) FROM unnest(waited_ms) w);
    places bigint[];
    more boolean;
    slots bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM fairway.waiting w WHERE w.period = this_period AND w.replica = me) THEN
        DELETE FROM fairway.waiting w WHERE w.ctid = ANY (ARRAY(
            SELECT g.ctid FROM fairway.waiting g WHERE g.period < this_period - 1 FOR UPDATE SKIP LOCKED));
    END IF;
    INSERT INTO fairway.waiting (period, replica, since, seen_at, published_until)
        VALUES (this_period, me, turns, moment, coalesce(turns[256], 'infinity'))
        ON CONFLICT ON CONSTRAINT waiting_pkey DO UPDATE
            SET since = excluded.since, seen_at = excluded.seen_at, published_until = excluded.published_until;
    IF NOT EXISTS (SELECT FROM fairway.waiting w
        WHERE w.period >= first_period AND w.seen_at > moment - interval '2 s' AND w.replica <> me AND w.since <> '{}')
    THEN
        idle := -1;
        waiting := cardinality(waited_ms);
        share := waiting;
        RETURN;
    END IF;
    WITH replicas AS MATERIALIZED (
        SELECT DISTINCT ON (w.replica) w.replica, w.since, w.published_until FROM fairway.waiting w
        WHERE w.period >= first_period AND w.seen_at > moment - interval '2 s' ORDER BY w.replica, w.seen_at DESC),
    known AS MATERIALIZED (SELECT min(r.published_until) AS until FROM replicas r WHERE r.since <> '{}')
    SELECT count(*), array_agg(t.place) FILTER (WHERE t.replica = me AND t.turn <= k.until), bool_or(k.until < 'infinity')
        INTO waiting, places, more
        FROM (SELECT r.replica, s.turn, row_number() OVER (ORDER BY s.turn, r.replica) AS place
            FROM replicas r, unnest(r.since) AS s (turn)) t, known k;
    slots := (SELECT max(a.slot) + 1 FROM fairway.channel_accounts a);
    IF pg_relation_size('fairway.channel_accounts') <= slots * 16384 THEN
        SELECT count(*) INTO idle FROM (
            SELECT FROM fairway.channel_accounts a
            WHERE a.slot >= 0 AND a.state = 'active' AND a.lease_hash IS NULL AND (keys = '{}' OR a.key_id = ANY (keys))
            LIMIT waiting + CASE WHEN more THEN 63 ELSE 64 END) i;
    ELSE
        SELECT count(*) INTO idle FROM (
            SELECT FROM generate_series(0, slots - 1) n
            CROSS JOIN LATERAL (
                SELECT a.state, a.lease_hash, a.key_id FROM fairway.channel_accounts a
                WHERE a.slot BETWEEN n::integer AND n::integer ORDER BY a.slot DESC LIMIT 1) newest
            WHERE newest.state = 'active' AND newest.lease_hash IS NULL AND (keys = '{}' OR newest.key_id = ANY (keys))
            LIMIT waiting + CASE WHEN more THEN 63 ELSE 64 END) i;
    END IF;
    share := (SELECT count(*) FROM unnest(places) p WHERE p <= idle);
END $$;
