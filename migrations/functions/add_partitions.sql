-- Makes the missing partitions of the days (UTC) from first to last, and returns how many it made. Only one session does so at a time.
-- A table is made first and attached then: that does not wait for transactions that use its parent, and they do not wait for it. As
-- its owner, because the role of `fairway serve` need not own tables. The days are limited, because a transaction may lock those of all.
CREATE OR REPLACE FUNCTION fairway.add_partitions(first date, last date) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    parents constant text[] := ARRAY['leases', 'lease_results', 'fee_bumps', 'idempotency_keys'];
    day date;
    parent text;
    part text;
    made bigint := 0;
BEGIN
    IF first < current_date - 31 OR last > current_date + 8 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('partitions of %s to %s: too far from today', first, last);
    END IF;
    IF NOT EXISTS (SELECT FROM generate_series(0, last - first) n, unnest(parents) t
        WHERE to_regclass('fairway.' || t || to_char(first + n, '_YYYYMMDD')) IS NULL)
    THEN
        RETURN 0;
    END IF;
    LOCK TABLE ONLY fairway.leases IN SHARE UPDATE EXCLUSIVE MODE;
    FOR day, parent IN SELECT first + n, t FROM generate_series(0, last - first) n, unnest(parents) t ORDER BY 1, 2
    LOOP
        part := parent || to_char(day, '_YYYYMMDD');
        CONTINUE WHEN to_regclass('fairway.' || part) IS NOT NULL;
        EXECUTE format('CREATE TABLE fairway.%I (LIKE fairway.%I INCLUDING ALL)', part, parent);
        PERFORM fairway.index_history(part, parent);
        PERFORM fairway.guard_history(part);
        EXECUTE format('ALTER TABLE fairway.%I ATTACH PARTITION fairway.%I FOR VALUES FROM (%L) TO (%L)', parent, part,
            day::timestamptz, (day + 1)::timestamptz);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;
