-- Stores a transaction of ensure-accounts. When its source is an account of the pool, which the caller has locked, the account is leased for it:
-- a ledger ends that lease as any other.
CREATE OR REPLACE FUNCTION fairway.store_provisioning(kind text, accounts text[], hash bytea, envelope bytea, source text, sequence bigint,
    max_time bigint, sequence_ledger bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO fairway.provisioning (kind, accounts, hash, envelope, source, sequence, max_time) VALUES ($1, $2, $3, $4, $5, $6, $7);
    SELECT FROM fairway.record_leases(ARRAY[$3], ARRAY[$5], ARRAY[$6], ARRAY[$8], ARRAY[''], ARRAY[$4], ARRAY[$7], NULL,
        ARRAY['ensure-accounts'], NULL, NULL, NULL, ARRAY['ensure-accounts'], NULL, NULL, NULL) WHERE $8 IS NOT NULL
$$;
