-- If this is another database than the one that the cursor names: names this one, and holds grants for these seconds. synchronous: a promotion, which
-- keeps identifier and home, has lost nothing, so it needs no hold; a copy has another home. No row: nothing has changed.
CREATE OR REPLACE FUNCTION fairway.adopt_database(hold_seconds bigint, synchronous boolean)
RETURNS TABLE (held_until bigint, system_identifier bigint, timeline integer)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE fairway.cursor c SET system_identifier = i.system_identifier, timeline = i.timeline, home = i.home,
        hold_reason = CASE WHEN n.nothing_lost OR c.held_until >= n.until THEN c.hold_reason
            ELSE 'the database was restored or failed over' END,
        held_until = CASE WHEN n.nothing_lost THEN c.held_until ELSE greatest(c.held_until, n.until) END,
        held_since = CASE WHEN n.nothing_lost THEN c.held_since ELSE least(c.held_since, c.sequence) END
    FROM fairway.cursor o CROSS JOIN fairway.identity() i CROSS JOIN LATERAL (
        SELECT greatest(floor(extract(epoch FROM clock_timestamp()))::bigint, o.close_time) + hold_seconds AS until,
            synchronous AND (o.system_identifier, o.home) = (i.system_identifier, i.home) AS nothing_lost) n
    WHERE c.ctid = o.ctid AND NOT fairway.same_database(o.tableoid, o.system_identifier, o.timeline, o.home)
    RETURNING coalesce(c.held_until, 0), c.system_identifier, c.timeline
$$;
