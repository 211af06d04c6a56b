-- The account, or no row. place: its ctid, for an UPDATE of a row that is locked. Meets the newest version first (README.md); PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION fairway.newest_account(key text)
RETURNS TABLE (place tid, public_key text, state text, slot integer, sealed_seed bytea, key_id text, sequence bigint, sequence_ledger bigint,
    quarantine_reason text, lease_hash bytea, lease_client text, lease_sequence bigint, lease_max_time bigint, lease_max_ledger bigint,
    locked_at timestamptz, lease_contract text)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT a.ctid, a.public_key::text, a.state, a.slot, a.sealed_seed, a.key_id, a.sequence, a.sequence_ledger, a.quarantine_reason,
        a.lease_hash, a.lease_client, a.lease_sequence, a.lease_max_time, a.lease_max_ledger, a.locked_at, a.lease_contract
    FROM fairway.channel_accounts a WHERE a.public_key BETWEEN $1 AND $1 ORDER BY a.public_key DESC LIMIT 1
$$;
