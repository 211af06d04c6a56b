-- Records leases, lets their accounts name them, and returns how many accounts now do: the others were not idle any more. One item of
-- each array makes a lease. max_ledger 0: none; key NULL: none. One statement, so that the checks of both sides see both.
-- Housekeeping makes partitions days ahead; when it has failed for so long, or the clock was changed, the day's first grant makes them.
-- Those of keys are dropped first, so with theirs all are there.
CREATE OR REPLACE FUNCTION fairway.record_leases(hashes bytea[], accounts text[], sequences bigint[], sequence_ledgers bigint[], clients text[],
    envelopes bytea[], max_times bigint[], max_ledgers bigint[], request_ids text[], keys text[], digests bytea[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
 SET timezone = 'UTC' AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
    leased bigint;
BEGIN
    IF to_regclass(to_char(moment, '"fairway.idempotency_keys_"YYYYMMDD')) IS NULL THEN
        PERFORM fairway.add_partitions(moment::date, moment::date);
    END IF;
    WITH granted AS MATERIALIZED (
        SELECT * FROM unnest(hashes, accounts, sequences, sequence_ledgers, clients, envelopes, max_times, max_ledgers, request_ids,
            keys, digests) AS g (hash, account, sequence, sequence_ledger, client, envelope, max_time, max_ledger, request_id, key,
            digest)
    ), recorded AS (
        INSERT INTO fairway.leases (hash, account, sequence, sequence_ledger, client, envelope, max_time, max_ledger, request_id,
            granted_at)
        SELECT g.hash, g.account, g.sequence, g.sequence_ledger, g.client, g.envelope, g.max_time, nullif(g.max_ledger, 0),
            g.request_id, moment FROM granted g
    ), keyed AS (
        INSERT INTO fairway.idempotency_keys (client, key, digest, lease_hash, granted_at)
        SELECT g.client, g.key, g.digest, g.hash, moment FROM granted g WHERE g.key IS NOT NULL
    )
    UPDATE fairway.channel_accounts a
        SET lease_hash = g.hash, lease_client = g.client, lease_sequence = g.sequence, lease_max_time = g.max_time,
            lease_max_ledger = nullif(g.max_ledger, 0), locked_at = moment, locked_until = to_timestamp(g.max_time)
        FROM granted g CROSS JOIN LATERAL (SELECT c.ctid AS place FROM fairway.channel_accounts c
            WHERE c.public_key BETWEEN g.account AND g.account ORDER BY c.public_key DESC LIMIT 1) newest
        WHERE a.ctid = newest.place AND a.state = 'active' AND a.lease_hash IS NULL;
    GET DIAGNOSTICS leased = ROW_COUNT;
    RETURN leased;
END $$;
