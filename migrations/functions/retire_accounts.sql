-- Begins to retire this many active accounts, idle ones first. Skips rows that a grant or a ledger has locked, so no order of
-- locks can deadlock.
CREATE OR REPLACE FUNCTION fairway.retire_accounts(wanted bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH surplus AS MATERIALIZED (
        SELECT a.public_key FROM fairway.channel_accounts a WHERE a.state = 'active'
        ORDER BY (a.lease_hash IS NOT NULL), a.slot DESC LIMIT wanted FOR UPDATE SKIP LOCKED
    ), retired AS (
        UPDATE fairway.channel_accounts b SET state = 'retiring' FROM surplus s WHERE b.public_key = s.public_key RETURNING b.public_key::text AS key)
    SELECT fairway.note(coalesce(array_agg(r.key), '{}'), 'retiring', NULL) FROM retired r
$$;
