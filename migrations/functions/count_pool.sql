-- How many accounts are in which state, and when the oldest open lease was granted.
CREATE OR REPLACE FUNCTION fairway.count_pool(OUT idle bigint, OUT leased bigint, OUT creating bigint, OUT retiring bigint,
    OUT retiring_leased bigint, OUT quarantined bigint, OUT oldest_lease timestamptz)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET max_parallel_workers_per_gather = 0
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    SELECT count(*) FILTER (WHERE a.state = 'active' AND a.lease_hash IS NULL),
            count(*) FILTER (WHERE a.state = 'active' AND a.lease_hash IS NOT NULL),
            count(*) FILTER (WHERE a.state = 'creating'),
            count(*) FILTER (WHERE a.state = 'retiring'),
            count(*) FILTER (WHERE a.state = 'retiring' AND a.lease_hash IS NOT NULL),
            count(*) FILTER (WHERE a.state = 'quarantined'),
            min(a.locked_at)
        INTO idle, leased, creating, retiring, retiring_leased, quarantined, oldest_lease
        FROM fairway.pool_accounts a;
END $$;
