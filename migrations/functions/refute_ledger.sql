-- Quarantines the accounts whose leases this ledger has ended, and returns them: the ledger was not the network's. Nothing when it is not the last one
-- any more, or the term is over.
CREATE OR REPLACE FUNCTION fairway.refute_ledger(my_term bigint, refuted bigint, reason text) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    keys text[];
    since timestamptz; -- no lease lives for an hour; NULL: no account is found
BEGIN
    SELECT least(clock_timestamp(), to_timestamp(c.close_time)) - interval '1 hour' INTO since FROM fairway.cursor c
        WHERE c.term = my_term AND c.sequence = refuted FOR UPDATE;
    keys := ARRAY(SELECT a.public_key FROM fairway.channel_accounts a
        WHERE a.state IN ('active', 'retiring') AND a.public_key IN (
            SELECT l.account FROM fairway.lease_results r JOIN fairway.leases l
                ON fairway.hour_key(l.granted_at, l.hash) = fairway.hour_key(r.granted_at, r.hash) AND l.granted_at = r.granted_at
                WHERE r.ledger = refuted AND r.granted_at > since AND l.granted_at > since)
        ORDER BY a.public_key FOR UPDATE);
    PERFORM fairway.quarantine_accounts(keys, reason);
    RETURN keys;
END $$;
