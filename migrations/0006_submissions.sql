-- The leases that fairway itself sends, until a ledger ends them: the same transaction deletes the row. No row is history: fairway.fee_bumps
-- has every bid.
CREATE TABLE fairway.submissions (
    lease_hash   bytea PRIMARY KEY CHECK (octet_length(lease_hash) = 32),
    account      text NOT NULL,
    client       text NOT NULL,
    granted_at   timestamptz NOT NULL, -- of the lease
    envelope     bytea NOT NULL, -- the leased transaction with all its signatures: what the next bid bumps
    max_fee      bigint CHECK (max_fee > 0), -- the client's cap of the whole fee; NULL: none given
    bid          bigint NOT NULL CHECK (bid > 0),
    bid_hash     bytea NOT NULL CHECK (octet_length(bid_hash) = 32),
    bid_envelope bytea NOT NULL, -- the signed fee bump that is sent
    round_ledger bigint NOT NULL, -- the cursor when these bytes were first sent
    due_ledger   bigint NOT NULL, -- they are sent again when this ledger has been committed
    rejected     bytea -- why sending has stopped: the TransactionResult of a node; NULL: it goes on
) WITH (fillfactor = 50);
-- Serves claim_submissions(), from the newest due ledger backwards.
CREATE INDEX submissions_due ON fairway.submissions (due_ledger) WHERE rejected IS NULL;
