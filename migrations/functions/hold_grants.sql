-- Holds grants for these seconds, and returns until when they are held. A longer hold stays, with its reason. NULL: no ledger is committed yet. A lease
-- that is forgotten and alive, or in the last ledger, was granted in as many seconds before that.
CREATE OR REPLACE FUNCTION fairway.hold_grants(hold_seconds bigint, reason text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE fairway.cursor c SET
        hold_reason = CASE WHEN c.held_until >= n.until THEN c.hold_reason ELSE reason END, held_until = greatest(c.held_until, n.until),
        held_since = least(c.sequence,
            coalesce(c.held_since, (SELECT max(g.sequence) FROM fairway.ledgers g WHERE g.close_time < c.close_time - hold_seconds), 1))
    FROM (SELECT greatest(floor(extract(epoch FROM clock_timestamp()))::bigint, o.close_time) + hold_seconds AS until
        FROM fairway.cursor o) n
    RETURNING c.held_until
$$;
