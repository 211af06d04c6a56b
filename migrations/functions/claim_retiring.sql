-- Locks an account that retires without a lease, as the source of a transaction that merges others: none of the batch, and of no pending
-- transaction of ensure-accounts.
CREATE OR REPLACE FUNCTION fairway.claim_retiring(batch text[])
RETURNS TABLE (public_key text, sequence bigint, sequence_ledger bigint, sealed_seed bytea, key_id text)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT a.public_key::text, a.sequence, a.sequence_ledger, a.sealed_seed, a.key_id FROM fairway.channel_accounts a
    WHERE a.state = 'retiring' AND a.lease_hash IS NULL AND a.public_key <> ALL (batch) AND a.public_key <> ALL (ARRAY(
        SELECT unnest(p.accounts) FROM fairway.provisioning p WHERE p.state = 'pending'))
    ORDER BY a.slot DESC LIMIT 1 FOR UPDATE SKIP LOCKED
$$;
