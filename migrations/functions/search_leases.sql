-- If the search is due: the accounts whose open leases no later ledger than this one can include, and when the next of the other open leases
-- expires (0: none). ledger is the next one.
CREATE OR REPLACE FUNCTION fairway.search_leases(due boolean, close_time bigint, ledger bigint,
    OUT expired text[], OUT next_max_time bigint, OUT next_max_ledger bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET max_parallel_workers_per_gather = 0
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF due THEN
        SELECT array_agg(l.public_key) FILTER (WHERE l.ends), min(l.lease_max_time) FILTER (WHERE NOT l.ends),
                min(l.lease_max_ledger) FILTER (WHERE NOT l.ends)
            INTO expired, next_max_time, next_max_ledger
            FROM (SELECT a.public_key::text, a.lease_max_time, a.lease_max_ledger,
                    a.lease_max_time < close_time OR coalesce(a.lease_max_ledger <= ledger, false) AS ends
                FROM fairway.pool_accounts a WHERE a.lease_max_time IS NOT NULL) l;
    END IF;
    expired := coalesce(expired, '{}');
    next_max_time := coalesce(next_max_time, 0);
    next_max_ledger := coalesce(next_max_ledger, 0);
END $$;
