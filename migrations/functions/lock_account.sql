-- For an operator's change: locks the cursor against ledgers (FOR SHARE), then the account. No row: not an account of this pool.
CREATE OR REPLACE FUNCTION fairway.lock_account(key text)
RETURNS TABLE (state text, leased boolean, sequence_ledger bigint, cursor_sequence bigint, on_hold boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    held boolean;
    at bigint;
BEGIN
    SELECT c.sequence, c.held_until IS NOT NULL OR NOT fairway.same_database(c.tableoid, c.system_identifier, c.timeline, c.home)
        INTO at, held FROM fairway.cursor c FOR SHARE;
    RETURN QUERY
        SELECT a.state, a.lease_hash IS NOT NULL, coalesce(a.sequence_ledger, 0), coalesce(at, 0), coalesce(held, false)
        FROM fairway.channel_accounts a WHERE a.public_key = key FOR UPDATE;
END $$;
