-- The leases that fairway itself sends, until a ledger ends them: the same transaction deletes their rows. No row is history: fairway.fee_bumps
-- has every bid. What each ledger changes is apart from the bytes, so that it is small.
CREATE TABLE fairway.submissions (
    granted_at   timestamptz NOT NULL, -- of the lease
    max_fee      bigint NOT NULL CHECK (max_fee > 0), -- of the whole fee: the client's, or fairway's when it has given none
    stroops_max  bigint NOT NULL, -- the client's limit for a day when it submitted; 0: none
    asked        bigint, -- the fee that nodes ask for which have refused the bid; NULL: none has
    bid          bigint NOT NULL CHECK (bid > 0),
    round_ledger bigint NOT NULL, -- the cursor when these bytes were first sent
    due_ledger   bigint NOT NULL, -- they are sent again when this ledger has been committed
    lease_hash   bytea PRIMARY KEY CHECK (octet_length(lease_hash) = 32),
    bid_hash     bytea NOT NULL CHECK (octet_length(bid_hash) = 32),
    inner_digest bytea NOT NULL CHECK (octet_length(inner_digest) = 32), -- SHA-256 of the leased transaction with all its signatures, which the bid contains
    client       text NOT NULL,
    rejected     bytea -- why sending has stopped: the TransactionResult of a node; NULL: it goes on
) WITH (fillfactor = 50);
-- Serves claim_submissions(), from the newest due ledger backwards.
CREATE INDEX submissions_due ON fairway.submissions (due_ledger) WHERE rejected IS NULL;

CREATE TABLE fairway.bids (
    lease_hash bytea PRIMARY KEY,
    envelope   bytea NOT NULL -- the signed fee bump that is sent
);
