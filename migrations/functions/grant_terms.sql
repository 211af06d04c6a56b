-- What a grant transaction asks when it has the grants lock, in one row: the columns that pool/grants_allowed judges, the number of the
-- transaction, what the distribution account can spend (-1: not known), and whether requests of other replicas wait.
CREATE OR REPLACE FUNCTION fairway.grant_terms(me bigint)
RETURNS TABLE (grants_allowed boolean, grants_reason text, sequence bigint, close_time bigint, clock bigint, same_database boolean,
    held_until bigint, hold_reason text, transaction_id bigint, spendable bigint, others_wait boolean)
LANGUAGE plpgsql AS $$
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
