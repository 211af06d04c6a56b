-- What each grant reads that changes often, while an old snapshot keeps the versions (see 0015).

-- Each row of the cursor and of the funds is met with its newest version first.
ALTER INDEX fairway.cursor_pkey SET (deduplicate_items = off);
ALTER INDEX fairway.funds_pkey SET (deduplicate_items = off);

-- A replica that is short of accounts writes its row many times a second. It begins a new row every ten seconds, and what the replicas
-- read are the rows of the last seconds: so no statement but the deletion, once in ten seconds, meets versions that are older.
ALTER TABLE fairway.waiting
    ADD COLUMN period bigint NOT NULL DEFAULT floor(extract(epoch FROM clock_timestamp()))::bigint / 10,
    DROP CONSTRAINT waiting_pkey,
    ADD CONSTRAINT waiting_pkey PRIMARY KEY (period, replica);

-- As in 0008. Of a replica with two rows the newer one counts. Idle accounts are counted as a claim looks for them (0018).
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
        SELECT q.replica FROM (
            SELECT w.replica, s.place, floor(extract(epoch FROM s.since)) AS second,
                count(*) OVER same AS size, row_number() OVER (same ORDER BY s.place) AS rank
            FROM (SELECT DISTINCT ON (l.replica) l.replica, l.since FROM fairway.waiting l
                WHERE l.period >= first_period AND l.seen_at > moment - interval '2 s' ORDER BY l.replica, l.seen_at DESC) w,
                unnest(w.since) WITH ORDINALITY AS s (since, place)
            WINDOW same AS (PARTITION BY w.replica, floor(extract(epoch FROM s.since)))) q
        ORDER BY q.second, (q.rank - 0.5) / q.size, q.replica LIMIT idle) d;
END $$;

-- The first requests of this replica are granted: the others wait on.
CREATE FUNCTION fairway.stop_waiting(me bigint, granted bigint) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    first_period constant bigint := (floor(extract(epoch FROM clock_timestamp()))::bigint - 2) / 10;
BEGIN
    UPDATE fairway.waiting w SET since = w.since[granted + 1 :] WHERE w.period >= first_period AND w.replica = me;
END $$;

-- As in 0011, through the primary keys.
CREATE OR REPLACE FUNCTION fairway.grant_terms(me bigint)
RETURNS TABLE (grants_allowed boolean, grants_reason text, sequence bigint, close_time bigint, clock bigint, same_database boolean,
    held_until bigint, hold_reason text, transaction_id bigint, spendable bigint, others_wait boolean)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    seconds constant bigint := floor(extract(epoch FROM clock_timestamp()));
    first_period constant bigint := (seconds - 2) / 10;
BEGIN
    RETURN QUERY
        SELECT c.grants_allowed, c.grants_reason, c.sequence, c.close_time, seconds,
            fairway.same_database(c.tableoid, c.system_identifier, c.timeline, c.home), c.held_until, c.hold_reason,
            pg_current_xact_id()::text::bigint, coalesce((SELECT f.spendable FROM fairway.funds f ORDER BY f.only_row DESC LIMIT 1), -1),
            EXISTS (SELECT FROM fairway.waiting w WHERE w.period >= first_period AND w.replica <> me AND w.since <> '{}'
                AND w.seen_at > clock_timestamp() - interval '2 s')
        FROM fairway.cursor c ORDER BY c.only_row DESC LIMIT 1;
END $$;
