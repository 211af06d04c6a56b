-- Locks and returns these accounts, also retired ones, in the order of their addresses. Grants skip locked rows, so this cannot deadlock with them.
CREATE OR REPLACE FUNCTION fairway.lock_accounts(addresses text[])
RETURNS TABLE (public_key text, state text, sequence bigint, sequence_ledger bigint, lease_hash bytea, lease_sequence bigint,
    lease_max_time bigint, lease_max_ledger bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT l.* FROM (SELECT n FROM (SELECT DISTINCT unnest(addresses)) w (n) ORDER BY n COLLATE "C" OFFSET 0) k
        CROSS JOIN LATERAL (
            SELECT a.public_key::text, a.state, a.sequence, a.sequence_ledger, a.lease_hash, a.lease_sequence, a.lease_max_time,
                coalesce(a.lease_max_ledger, 0)
            FROM fairway.channel_accounts a WHERE a.public_key BETWEEN k.n AND k.n
            ORDER BY a.public_key DESC LIMIT 1 FOR UPDATE) l
        ORDER BY l.public_key COLLATE "C";
END $$;
