-- Records leases, lets their accounts name them, and counts them. One item of each array makes a lease. max_ledger 0: none; key, reference NULL: none.
-- An array of which no item has anything may be NULL; those of limits and contracts together.
-- open_max: how many open leases the item's client may have, 0: as many as it likes. Of a client that would have more, only its first items
-- are recorded. contract_max: the same, of the leases of the client for the item's contract; contract NULL: it does not count by contract. Returns
-- the places of the recorded items, from 1, with the time of their grant (us), and of those that their contract_max refuses. The rows of clients stay
-- locked until COMMIT, which follows at once; the caller has locked the accounts, so their places do not change before the update.
-- claims: nonces, each of the item at that place in claim_places (0: of none). An item is not recorded when another lease has one of its claims.
-- Housekeeping makes partitions days ahead; when it has failed for so long, or the clock was changed, the day's first grant makes them.
-- Those of keys are dropped first, so with theirs all are there.
CREATE OR REPLACE FUNCTION fairway.record_leases(hashes bytea[], accounts text[], sequences bigint[], sequence_ledgers bigint[], clients text[],
    envelopes bytea[], max_times bigint[], max_ledgers bigint[], request_ids text[], keys text[], digests bytea[], open_max bigint[],
    refs text[], calls bytea[], contracts text[], contract_max bigint[], claim_places bigint[] DEFAULT NULL, claims bytea[] DEFAULT NULL,
    claim_ledgers bigint[] DEFAULT NULL)
RETURNS TABLE (place bigint, refused_by text, granted_us bigint) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
    contract_rows text[]; -- of the items; NULL: no item counts by contract
    names text[]; -- of clients, and of contract_rows
    open_leases bigint[]; -- of each
    claimed bigint[] := '{}'; -- places of items with a claim that another lease has
    above bigint[] := '{}'; -- places of what contract_max refuses
    recorded bigint[]; -- places; NULL: all
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
        names := ARRAY(SELECT DISTINCT n FROM unnest(clients || contract_rows) n WHERE n <> '' ORDER BY n);
        open_leases := fairway.lock_clients(names);
    END IF;
    IF claims IS NOT NULL THEN -- in their order, so that batches which have some in common do not deadlock
        INSERT INTO fairway.lease_claims (client, claim, lease_hash, call, account, expires_ledger)
            SELECT clients[n.place], n.claim, hashes[n.place], calls[n.place], accounts[n.place], n.ledger
            FROM unnest(claim_places, claims, claim_ledgers) n (place, claim, ledger) WHERE n.place > 0
            ORDER BY 1, 2, n.place, n.ledger DESC ON CONFLICT DO NOTHING;
        claimed := ARRAY(SELECT n.place FROM unnest(claim_places, claims) n (place, claim) WHERE n.place > 0 AND NOT EXISTS (
            SELECT FROM fairway.lease_claims c WHERE c.client = clients[n.place] AND c.claim = n.claim AND c.lease_hash = hashes[n.place]));
    END IF;
    IF contract_rows IS NOT NULL THEN
        above := ARRAY(SELECT n.place FROM (
                SELECT i.*, row_number() OVER (PARTITION BY i.name ORDER BY i.place) AS nth
                FROM unnest(contract_rows, contract_max) WITH ORDINALITY AS i (name, contract_max, place) WHERE i.place <> ALL (claimed)) n
            WHERE n.contract_max > 0 AND open_leases[array_position(names, n.name)] + n.nth > n.contract_max);
    END IF;
    IF 0 < ANY (open_max) OR above || claimed <> '{}' THEN
        recorded := ARRAY(SELECT n.place FROM (
                SELECT i.*, row_number() OVER (PARTITION BY i.client ORDER BY i.place) AS nth
                FROM unnest(clients, open_max) WITH ORDINALITY AS i (client, open_max, place) WHERE i.place <> ALL (above || claimed)) n
            WHERE coalesce(n.open_max, 0) = 0 OR open_leases[array_position(names, n.client)] + n.nth <= n.open_max);
    END IF;
    RETURN QUERY
    WITH granted AS MATERIALIZED (
        SELECT * FROM unnest(hashes, accounts, sequences, sequence_ledgers, clients, envelopes, max_times, max_ledgers, request_ids,
            keys, digests, refs, contracts) WITH ORDINALITY AS g (hash, account, sequence, sequence_ledger, client, envelope,
            max_time, max_ledger, request_id, key, digest, reference, contract, place)
        WHERE recorded IS NULL OR g.place = ANY (recorded)
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
        WHERE a.ctid = newest.place AND a.state IN ('active', 'retiring') AND a.lease_hash IS NULL
        RETURNING g.place, NULL::text, (extract(epoch FROM moment) * 1000000)::bigint;
    GET DIAGNOSTICS leased = ROW_COUNT;
    IF leased <> coalesce(cardinality(recorded), cardinality(hashes)) THEN
        RAISE integrity_constraint_violation
            USING MESSAGE = format('only %s of the accounts are idle', leased);
    END IF;
    IF names IS NOT NULL THEN
        UPDATE fairway.client_usage u SET open_leases = u.open_leases + d.leases
            FROM (SELECT i.name, count(*) AS leases
                FROM unnest(clients || contract_rows) WITH ORDINALITY AS i (name, nth) -- clients of item 1, 2, ...; then their rows
                WHERE recorded IS NULL OR (i.nth - 1) % cardinality(clients) + 1 = ANY (recorded) GROUP BY i.name) d
            CROSS JOIN LATERAL fairway.newest_client(d.name) c
            WHERE u.ctid = c.place;
    END IF;
    IF cardinality(recorded) < cardinality(hashes) THEN
        PERFORM fairway.forget_contracts(names);
        DELETE FROM fairway.lease_claims c USING unnest(hashes) WITH ORDINALITY h (hash, place)
            WHERE c.lease_hash = h.hash AND h.place <> ALL (recorded);
    END IF;
    RETURN QUERY SELECT n, 'contractPercent', NULL::bigint FROM unnest(above) n;
END $$;
