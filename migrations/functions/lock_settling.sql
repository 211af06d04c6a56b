-- Locks and returns, for a ledger, the accounts that it names, and, if a search is due, those whose open leases no later ledger can include
-- (ledger: the next one). The search is one pass over the pool, and also tells when the next open lease expires (0: none, or no search). No index
-- serves it: each grant would have to write that index. Grants skip locked rows, so this cannot deadlock with them. If no account is found, one
-- row has NULLs and what the search returned.
CREATE OR REPLACE FUNCTION fairway.lock_settling(addresses text[], close_time bigint, ledger bigint, due boolean)
RETURNS TABLE (public_key text, state text, sequence bigint, sequence_ledger bigint, lease_hash bytea, lease_sequence bigint,
    lease_max_time bigint, lease_max_ledger bigint, submitted boolean, reason text, next_max_time bigint, next_max_ledger bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    expired text[];
    next_time bigint;
    next_ledger bigint;
BEGIN
    IF due THEN
        SELECT array_agg(l.public_key) FILTER (WHERE l.ends), min(l.lease_max_time) FILTER (WHERE NOT l.ends),
                min(l.lease_max_ledger) FILTER (WHERE NOT l.ends)
            INTO expired, next_time, next_ledger
            FROM (SELECT a.public_key::text, a.lease_max_time, a.lease_max_ledger,
                    a.lease_max_time < $2 OR coalesce(a.lease_max_ledger <= $3, false) AS ends
                FROM fairway.pool_accounts a WHERE a.lease_max_time IS NOT NULL) l;
    END IF;
    RETURN QUERY
        SELECT l.*, coalesce(next_time, 0), coalesce(next_ledger, 0) FROM (VALUES (1)) one
        LEFT JOIN LATERAL (
            SELECT a.* FROM (SELECT n FROM (SELECT unnest(addresses) UNION SELECT unnest(expired)) w (n) ORDER BY n COLLATE "C" OFFSET 0) k
            CROSS JOIN LATERAL (
                SELECT a.public_key::text, a.state, a.sequence, a.sequence_ledger, a.lease_hash, a.lease_sequence, a.lease_max_time,
                    coalesce(a.lease_max_ledger, 0),
                    EXISTS (SELECT FROM fairway.provisioning p WHERE p.state = 'pending' AND a.public_key = ANY (p.accounts)),
                    a.quarantine_reason
                FROM fairway.channel_accounts a WHERE a.public_key BETWEEN k.n AND k.n AND a.state <> 'retired'
                ORDER BY a.public_key DESC LIMIT 1 FOR UPDATE) a) l ON true
        ORDER BY l.public_key COLLATE "C";
END $$;
