-- The lowest free slots, numbered from 1. The provisioning lock excludes every other writer of slots, so they stay free until COMMIT.
CREATE OR REPLACE FUNCTION fairway.free_slots(wanted integer) RETURNS TABLE (slot integer, ordinal bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT n, row_number() OVER (ORDER BY n)
    FROM generate_series(0, (SELECT coalesce(max(a.slot), -1) FROM fairway.channel_accounts a) + wanted) n
    WHERE NOT EXISTS (SELECT FROM fairway.channel_accounts b WHERE b.slot = n)
$$;
