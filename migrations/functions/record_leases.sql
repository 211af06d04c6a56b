-- Records leases, lets their accounts name them, and counts them. One item of each array makes a lease. max_ledger 0: none; key, reference NULL: none.
-- An array of which no item has anything may be NULL; those of limits and contracts together. Returns the time of the grant (us).
-- open_max: how many open leases the item's client may have, 0: as many as it likes. contract_max: the same, of the leases of the client for the
-- item's contract; contract NULL: it does not count by contract. claims: nonces, each of the item at that place in claim_places (0: of none).
-- The batch has refused what is above a limit, or has a claim of another lease. When another batch has recorded more since, all of it fails, and
-- runs again. The rows of clients stay locked until COMMIT, which follows at once; the caller has locked the accounts, so their places do not change
-- before the update.
-- Housekeeping makes partitions days ahead; when it has failed for so long, or the clock was changed, the day's first grant makes them.
-- Those of keys are dropped first, so with theirs all are there.
CREATE OR REPLACE FUNCTION fairway.record_leases(hashes bytea[], accounts text[], sequences bigint[], sequence_ledgers bigint[], clients text[],
    envelopes bytea[], max_times bigint[], max_ledgers bigint[], request_ids text[], keys text[], digests bytea[], open_max bigint[],
    refs text[], calls bytea[], contracts text[], contract_max bigint[], claim_places bigint[] DEFAULT NULL, claims bytea[] DEFAULT NULL,
    claim_ledgers bigint[] DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
    contract_rows text[]; -- of the items; NULL: no item counts by contract
    counted record; -- clients and contract_rows by their names, and the open_leases of each before
    is_late boolean := false; -- a limit or a claim was free when the batch read it, and is not
    leased bigint;
BEGIN
    IF to_regclass(to_char(moment, '"fairway.idempotency_keys_"YYYYMMDD')) IS NULL THEN
        PERFORM fairway.add_partitions(moment::date, moment::date);
    END IF;
    IF 0 < ANY (contract_max) THEN
        contract_rows := ARRAY(SELECT fairway.contract_row(i.client, i.contract)
            FROM unnest(clients, contracts) WITH ORDINALITY AS i (client, contract, place) ORDER BY i.place);
    END IF;
    IF '' <> ANY (clients) THEN
        counted := fairway.count_leases(clients || contract_rows, 1);
    END IF;
    IF 0 < ANY (open_max || contract_max) THEN
        is_late := EXISTS (SELECT FROM (
                SELECT i.*, row_number() OVER (PARTITION BY i.name ORDER BY i.place) AS nth
                FROM unnest(clients || contract_rows, open_max || contract_max) WITH ORDINALITY AS i (name, most, place)
                WHERE i.most > 0) n -- as the batch counts: one of before its client had the limit is not among them
            WHERE counted.open_leases[array_position(counted.names, n.name)] + n.nth > n.most);
    END IF;
    IF claims IS NOT NULL THEN -- in their order, so that batches which have some in common do not deadlock
        INSERT INTO fairway.lease_claims (client, claim, lease_hash, call, account, expires_ledger, granted_at)
            SELECT clients[n.place], n.claim, hashes[n.place], calls[n.place], accounts[n.place], n.ledger, moment
            FROM unnest(claim_places, claims, claim_ledgers) n (place, claim, ledger) WHERE n.place > 0
            ORDER BY 1, 2, n.place, n.ledger DESC ON CONFLICT DO NOTHING;
        is_late := is_late OR EXISTS (SELECT FROM unnest(claim_places, claims) n (place, claim) WHERE n.place > 0 AND NOT EXISTS (
            SELECT FROM fairway.lease_claims c WHERE c.client = clients[n.place] AND c.claim = n.claim AND c.lease_hash = hashes[n.place]));
    END IF;
    IF is_late THEN
        RAISE serialization_failure USING MESSAGE = 'another batch has recorded leases since this one began';
    END IF;
    WITH granted AS MATERIALIZED (
        SELECT * FROM unnest(hashes, accounts, sequences, sequence_ledgers, clients, envelopes, max_times, max_ledgers, request_ids,
            keys, digests, refs, contracts) AS g (hash, account, sequence, sequence_ledger, client, envelope,
            max_time, max_ledger, request_id, key, digest, reference, contract)
    ), history AS (
        INSERT INTO fairway.leases (hash, account, sequence, sequence_ledger, client, envelope, max_time, max_ledger, request_id,
            reference, granted_at)
        SELECT g.hash, g.account, g.sequence, g.sequence_ledger, g.client, g.envelope, g.max_time, nullif(g.max_ledger, 0),
            g.request_id, g.reference, moment FROM granted g
    ), keyed AS (
        INSERT INTO fairway.idempotency_keys (client, key, digest, lease_hash, granted_at)
        SELECT g.client, g.key, g.digest, g.hash, moment FROM granted g WHERE g.key IS NOT NULL
    )
    UPDATE fairway.channel_accounts a
        SET lease_hash = g.hash, lease_client = g.client, lease_sequence = g.sequence, lease_max_time = g.max_time,
            lease_max_ledger = nullif(g.max_ledger, 0), lease_contract = g.contract, locked_at = moment
        FROM granted g CROSS JOIN LATERAL fairway.newest_account(g.account) newest
        WHERE a.ctid = newest.place AND a.state IN ('active', 'retiring') AND a.lease_hash IS NULL;
    GET DIAGNOSTICS leased = ROW_COUNT;
    IF leased <> cardinality(hashes) THEN
        RAISE integrity_constraint_violation USING MESSAGE = format('only %s of the accounts are idle', leased);
    END IF;
    RETURN extract(epoch FROM moment) * 1000000;
END $$;
