-- Makes the index of a partition, besides those of its parent.
CREATE OR REPLACE FUNCTION fairway.index_history(part text, of_table text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF of_table = 'leases' THEN
        EXECUTE format('CREATE UNIQUE INDEX %I ON fairway.%I (fairway.hour_key(granted_at, hash))', part || '_hour', part);
    ELSE
        EXECUTE format('ALTER TABLE fairway.%I ADD PRIMARY KEY (%s)', part, CASE of_table
            WHEN 'lease_results' THEN 'granted_at, hash' WHEN 'idempotency_keys' THEN 'client, key' ELSE 'hash' END);
    END IF;
END $$;
