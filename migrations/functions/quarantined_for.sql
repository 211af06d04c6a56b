-- The accounts that are quarantined for this reason.
CREATE OR REPLACE FUNCTION fairway.quarantined_for(reason text) RETURNS SETOF text
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET max_parallel_workers_per_gather = 0
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY SELECT a.public_key::text FROM fairway.pool_accounts a WHERE a.quarantine_reason = reason;
END $$;
