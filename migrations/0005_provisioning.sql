-- What ensure-accounts has under way. A transaction is stored here before it is sent, so that a crash at any point leaves something to resume.
-- The ledger transaction that decides it writes what became of it, and nothing else does.

CREATE TABLE fairway.provisioning (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text NOT NULL CHECK (kind IN ('creation', 'merge')),
    accounts    text[] NOT NULL CHECK (cardinality(accounts) BETWEEN 1 AND 19),
    hash        bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    envelope    bytea NOT NULL, -- signed: a retry sends these bytes again
    sequence    bigint NOT NULL, -- of the distribution account
    max_time    bigint NOT NULL, -- Unix seconds
    -- superseded: the sequence number went to another transaction; expired: a ledger closed after max_time without it
    state       text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'succeeded', 'failed', 'superseded', 'expired')),
    result_code text, -- txSUCCESS, txFAILED ...: when it was in a ledger
    ledger      bigint, -- the one that decided it
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    decided_at  timestamptz,
    CHECK ((state = 'pending') = (decided_at IS NULL)),
    CHECK ((state = 'pending') = (ledger IS NULL)),
    CHECK ((state IN ('succeeded', 'failed')) = (result_code IS NOT NULL))
);
-- The sequence of the distribution account admits one at a time. Serves finding it.
CREATE UNIQUE INDEX provisioning_pending ON fairway.provisioning ((true)) WHERE state = 'pending';
