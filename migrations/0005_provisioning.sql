-- What ensure-accounts has under way. A transaction is stored here before it is sent, so that a crash at any point leaves something to resume.
-- The ledger transaction that decides it writes what became of it, and nothing else does.

CREATE TABLE fairway.provisioning (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text NOT NULL CHECK (kind IN ('creation', 'merge')),
    accounts    text[] NOT NULL CHECK (cardinality(accounts) BETWEEN 1 AND 18),
    hash        bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32), -- of the innermost transaction
    envelope    bytea NOT NULL, -- signed: a retry sends these bytes again
    source      fairway.address NOT NULL, -- the distribution account, or an account of the pool that has an open lease for it
    sequence    bigint NOT NULL, -- of the source
    max_time    bigint NOT NULL, -- Unix seconds
    -- superseded: the sequence number went to another transaction; expired: a ledger closed after max_time without it
    state       text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'succeeded', 'failed', 'superseded', 'expired')),
    result_code text, -- txSUCCESS, txFAILED ...: when it was in a ledger
    ledger      bigint, -- the one that decided it
    CHECK ((state = 'pending') = (ledger IS NULL)),
    CHECK ((state IN ('succeeded', 'failed')) = (result_code IS NOT NULL))
);
-- The sequence of a source admits one at a time. Serves finding them.
CREATE UNIQUE INDEX provisioning_pending ON fairway.provisioning (source) WHERE state = 'pending';

-- Serves finding the accounts to be created or merged. A lease changes none of these columns.
CREATE INDEX channel_accounts_changing ON fairway.channel_accounts (slot) WHERE state IN ('creating', 'retiring');
