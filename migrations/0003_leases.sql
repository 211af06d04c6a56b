-- History, which is only appended: leases as they were granted, how they ended, fee bumps, idempotency keys. Each table has one partition a day
-- (UTC), by the time of the grant (granted_at), which is dropped as a whole. Who knows granted_at reads one partition.
--
-- A hash is random. In an index that starts with it, each row would go to another page of a whole day's entries. So the indexes of leases and
-- results start with the time of the grant: that of leases with hour_key(), the only index it has. add_partitions() makes them.

-- Columns of a fixed width come first: no byte is lost between them.
CREATE TABLE fairway.leases (
    granted_at      timestamptz NOT NULL,
    sequence        bigint NOT NULL,
    sequence_ledger bigint, -- of the account when it was leased: part of the answer
    max_time        bigint NOT NULL, -- Unix seconds
    max_ledger      bigint, -- exclusive; NULL: none
    hash            bytea NOT NULL CHECK (octet_length(hash) = 32),
    account         text NOT NULL,
    client          text NOT NULL, -- '' when nobody is authenticated
    request_id      text NOT NULL,
    envelope        bytea NOT NULL, -- as answered: a retry returns these bytes, it never signs again
    reference       text CHECK (octet_length(reference) BETWEEN 1 AND 255) -- the client's; NULL: none
) PARTITION BY RANGE (granted_at); -- UNIQUE (hour_key(granted_at, hash))

-- The nonces that contract calls consume, of open leases and of those that ended as confirmed or consumed. A ledger that ends a lease otherwise deletes its
-- claims, and housekeeping deletes them after expires_ledger: the network knows the nonce no more. A client may let many end with one ledger.
CREATE TABLE fairway.lease_claims (
    expires_ledger bigint NOT NULL,
    granted_at     timestamptz NOT NULL, -- of the lease
    client         text NOT NULL,
    claim          bytea NOT NULL, -- XDR: the address, and the nonce
    lease_hash     bytea NOT NULL,
    call           bytea NOT NULL CHECK (octet_length(call) = 32), -- what the lease calls, with all of its claims: stellar/authorization
    account        text NOT NULL, -- of the lease
    PRIMARY KEY (client, claim)
);
-- Serves deleting the claims of a lease.
CREATE INDEX lease_claims_of_lease ON fairway.lease_claims (lease_hash);
-- Serves finding the open leases whose authorization expires with a ledger, and deleting claims.
CREATE INDEX lease_claims_expiring ON fairway.lease_claims (expires_ledger, granted_at);

-- How leases ended. A lease without a row here is open.
CREATE TABLE fairway.lease_results (
    granted_at   timestamptz NOT NULL, -- of the lease
    settled_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    ledger       bigint NOT NULL, -- the one that has the transaction, else the one whose commit settled it
    -- The order in which a client's leases ended: the ledger whose commit ended it (after a gap not the one that has the transaction), and within it
    -- the slot of the account, which is the same when the ledger is committed again after a failover that lost it.
    ended_ledger bigint NOT NULL,
    place        integer NOT NULL,
    hash         bytea NOT NULL,
    client       text, -- of one of those that a ledger ended of those that the client was granted at one moment, by a batch; NULL: another row has it
    result       text NOT NULL CHECK (result IN ('confirmed', 'failed', 'expired', 'superseded', 'consumed')),
    result_code  text, -- txSUCCESS, txFAILED ...: innermost, when the transaction was in a ledger
    -- When a ledger has the transaction; NULL also when that ledger was lost and the RPC does not tell.
    ledger_hash  bytea CHECK (octet_length(ledger_hash) = 32), -- its hash there: that of its fee bump
    result_xdr   bytea, -- TransactionResult, which begins with the fee charged
    return_value bytea -- SCVal; NULL: it has none, or none that the result proves. Of a call that failed: DiagnosticEvents
) PARTITION BY RANGE (granted_at); -- UNIQUE (granted_at, hash): a lease has one result
-- Serves reading a client's ends in their order, merged from all days: a lease may end long after its day. It has one row of each batch.
CREATE INDEX lease_results_of_client ON fairway.lease_results (client, ended_ledger) WHERE client IS NOT NULL;

-- The last ledger that ended a lease of a day that was dropped. No row: nothing was dropped. A cursor before it would skip leases.
CREATE TABLE fairway.dropped_ends (
    only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    ended_ledger bigint NOT NULL
);

-- Fee bumps that were signed: found by their own hash.
CREATE TABLE fairway.fee_bumps (
    granted_at timestamptz NOT NULL, -- of the lease
    fee        bigint NOT NULL,
    signed_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    raise      boolean NOT NULL DEFAULT false, -- fairway's own, after another bid
    hash       bytea NOT NULL CHECK (octet_length(hash) = 32),
    lease_hash bytea NOT NULL
) PARTITION BY RANGE (granted_at); -- UNIQUE (hash)
-- Serves finding the fee bumps of a lease, the highest first. New rows have the time of recent leases, so inserts stay at the right edge of the index.
CREATE INDEX fee_bumps_of_lease ON fairway.fee_bumps (granted_at, lease_hash, fee);

-- Which lease a client took with a key. A key is found on the day (UTC) of its lease and on the next one.
CREATE TABLE fairway.idempotency_keys (
    granted_at timestamptz NOT NULL, -- of the lease
    client     text NOT NULL,
    key        text NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    digest     bytea NOT NULL CHECK (octet_length(digest) = 32), -- SHA-256 of the request's body
    lease_hash bytea NOT NULL
) PARTITION BY RANGE (granted_at); -- UNIQUE (client, key)

-- A statement fires the triggers of the table that it names, so the partitions have this trigger too.
SELECT fairway.guard_history(t) FROM unnest(ARRAY['leases', 'lease_results', 'fee_bumps', 'idempotency_keys']) t;

-- The partitions: of which table, and of which day (UTC).
CREATE VIEW fairway.partitions AS
    SELECT p.relname AS parent, c.relname AS name,
        CASE WHEN c.relname ~ '_[0-9]{8}$' THEN right(c.relname, 8)::date END AS day
    FROM pg_catalog.pg_inherits i
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
    JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
    WHERE p.relkind = 'p' AND p.relnamespace = 'fairway'::regnamespace;

-- For people: a lease with its key (NULL: none) and its end. It has no index on the hash.
CREATE VIEW fairway.lease_history AS
    SELECT l.hash, l.account, l.sequence, l.sequence_ledger, l.client, k.key AS idempotency_key, l.envelope, l.max_time, l.max_ledger,
        l.request_id, l.reference, l.granted_at, r.settled_at, r.result, r.result_code, r.ledger, r.ledger_hash,
        ('x' || encode(substr(r.result_xdr, 1, 8), 'hex'))::bit(64)::bigint AS fee_charged
    FROM fairway.leases l
    LEFT JOIN fairway.lease_results r ON r.hash = l.hash AND r.granted_at = l.granted_at
    LEFT JOIN fairway.idempotency_keys k ON k.lease_hash = l.hash AND k.granted_at = l.granted_at;

SELECT fairway.add_partitions(current_date, current_date + 7);
