-- An account that no ledger has created yet stays without a sequence number. One that is quarantined keeps its first reason.
CREATE OR REPLACE FUNCTION fairway.quarantine_accounts(keys text[], reason text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH changed AS (
        UPDATE fairway.channel_accounts a SET state = 'quarantined', quarantine_reason = reason
        WHERE a.public_key = ANY (keys) AND a.state IN ('creating', 'active', 'retiring') RETURNING a.public_key)
    SELECT fairway.note(coalesce(array_agg(c.public_key::text), '{}'), 'quarantined', reason) FROM changed c
$$;
