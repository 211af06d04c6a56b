-- Housekeeping that has nothing to do takes no lock and reads no account.

-- As in 0022, but when all partitions exist it only looks, and its lock is on the table alone. The lock of 0022 was on each partition too,
-- so it failed as long as VACUUM or ANALYZE worked on one of them.
CREATE OR REPLACE FUNCTION fairway.add_partitions(first date, last date) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    parents constant text[] := ARRAY['leases', 'lease_results', 'fee_bumps', 'idempotency_keys'];
    day date;
    parent text;
    part text;
    made bigint := 0;
BEGIN
    IF last > current_date + 31 OR last - first > 366 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('partitions of %s to %s: too many, or too far ahead', first, last);
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
        PERFORM fairway.guard_history(part, parent);
        EXECUTE format('ALTER TABLE fairway.%I ATTACH PARTITION fairway.%I FOR VALUES FROM (%L) TO (%L)', parent, part,
            day::timestamptz, (day + 1)::timestamptz);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;

-- As in 0018, but the accounts are read, for the oldest open lease, only when a day may be dropped. To read all of a large pool may take
-- longer than the statement_timeout of housekeeping.
CREATE OR REPLACE FUNCTION fairway.drop_history(keep interval) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    moment constant timestamptz := (SELECT least(clock_timestamp(), to_timestamp(c.close_time)) FROM fairway.cursor c);
    keys_from constant date := (moment - interval '1 minute')::date - 1;
    leases_from date := least(keys_from, (moment - keep)::date);
    part text;
    dropped bigint := 0;
BEGIN
    IF moment IS NULL OR (to_regclass('fairway.leases_before_0010') IS NULL AND NOT EXISTS (SELECT FROM fairway.partitions p
        WHERE p.day < CASE p.parent WHEN 'idempotency_keys' THEN keys_from ELSE leases_from END))
    THEN
        RETURN 0;
    END IF;
    leases_from := least(leases_from, (SELECT p.oldest_lease::date FROM fairway.count_pool() p));
    IF to_regclass('fairway.leases_before_0010') IS NOT NULL
        AND (SELECT m.applied_at FROM fairway.migrations m WHERE m.number = 10) < leases_from
    THEN
        PERFORM fairway.forget_before_0010();
        RETURN 2;
    END IF;
    FOR part IN
        SELECT o.name FROM (
            SELECT p.name, p.day, min(p.day) OVER () AS oldest FROM fairway.partitions p
            WHERE p.day < CASE p.parent WHEN 'idempotency_keys' THEN keys_from ELSE leases_from END) o
        WHERE o.day = o.oldest
    LOOP
        EXECUTE format('DROP TABLE fairway.%I', part);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;
