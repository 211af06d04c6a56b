-- Locks the accounts of a provisioning transaction, in order, and returns of each whether it is in this state and has no open lease.
CREATE OR REPLACE FUNCTION fairway.lock_provisioned(keys text[], expected text) RETURNS SETOF boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT a.state = expected AND a.lease_hash IS NULL FROM fairway.channel_accounts a
    WHERE a.public_key = ANY (keys) ORDER BY a.public_key COLLATE "C" FOR UPDATE
$$;
