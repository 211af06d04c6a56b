-- Makes the missing partitions of the days (UTC) from first to last, and returns how many it made. Only one session does so at a time.
-- A table is made first and attached then: that does not wait for transactions that use its parent, and they do not wait for it. As
-- its owner, because the role of `fairway serve` need not own tables. The days are limited, because a transaction may lock those of all.
CREATE OR REPLACE FUNCTION fairway.add_partitions(first date, last date) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    day date;
    parent text;
    identity text;
    part text;
    made bigint := 0;
BEGIN
    IF first < current_date - 31 OR last > current_date + 8 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('partitions of %s to %s: too far from today', first, last);
    END IF;
    FOR day, parent, identity IN SELECT first + n, k.* FROM generate_series(0, last - first) n, (VALUES
        ('leases', 'fairway.hour_key(granted_at, hash)'), ('lease_results', 'granted_at, hash'), ('fee_bumps', 'hash'),
        ('idempotency_keys', 'client, key')) k ORDER BY 1, 2
    LOOP
        part := parent || to_char(day, '_YYYYMMDD');
        CONTINUE WHEN to_regclass('fairway.' || part) IS NOT NULL;
        LOCK TABLE ONLY fairway.leases IN SHARE UPDATE EXCLUSIVE MODE;
        CONTINUE WHEN to_regclass('fairway.' || part) IS NOT NULL; -- whoever had the lock has made it
        EXECUTE format('CREATE TABLE fairway.%I (LIKE fairway.%I INCLUDING ALL)', part, parent);
        EXECUTE format('CREATE UNIQUE INDEX %I ON fairway.%I (%s)', part || '_identity', part, identity);
        PERFORM fairway.guard_history(part);
        EXECUTE format('ALTER TABLE fairway.%I ATTACH PARTITION fairway.%I FOR VALUES FROM (%L) TO (%L)', parent, part,
            day::timestamptz, (day + 1)::timestamptz);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;
