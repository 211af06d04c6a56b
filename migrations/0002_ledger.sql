-- Where ingestion is, whether leases may be granted, and what the distribution account can spend.

-- A recent window of committed ledgers; the newest is the cursor's.
CREATE TABLE fairway.ledgers (
    sequence          bigint PRIMARY KEY CHECK (sequence BETWEEN 1 AND 4294967295),
    hash              bytea NOT NULL CHECK (octet_length(hash) = 32),
    protocol          integer NOT NULL,
    close_time        bigint NOT NULL CHECK (close_time > 0), -- Unix seconds
    transaction_count integer NOT NULL,
    ends              bigint[], -- leases that it ended: confirmed, failed, expired, superseded, consumed; NULL: none
    committed_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    operations        integer NOT NULL DEFAULT 0, -- of its transactions
    max_operations    integer NOT NULL DEFAULT 0, -- as many as it may have had; 0: not known
    prices            bigint[] -- stroops an operation, of the classic transactions, of their DEX lane, of Soroban; 0: the least fee
);

-- The last committed ledger, and the term of the leader that may commit the next one.
CREATE TABLE fairway.cursor (
    only_row       boolean PRIMARY KEY WITH (deduplicate_items = off) DEFAULT true CHECK (only_row),
    sequence       bigint NOT NULL REFERENCES fairway.ledgers (sequence) DEFERRABLE INITIALLY DEFERRED,
    hash           bytea NOT NULL CHECK (octet_length(hash) = 32),
    close_time     bigint NOT NULL CHECK (close_time > 0),
    term           bigint NOT NULL DEFAULT 0,
    grants_allowed boolean NOT NULL DEFAULT true,
    grants_reason  text, -- why not
    -- The database in which this row was last trusted. Another cluster has another identifier, the end of a recovery begins a new timeline, and
    -- a dump that is restored into its own cluster has another home. A copied volume leaves no trace: for that there is `fairway hold`.
    system_identifier bigint NOT NULL DEFAULT (fairway.identity()).system_identifier,
    timeline          integer NOT NULL DEFAULT (fairway.identity()).timeline,
    home              text NOT NULL DEFAULT (fairway.identity()).home,
    -- No lease is granted until a ledger has closed after this (Unix seconds): then every forgotten lease is dead.
    held_until     bigint,
    hold_reason    text,
    held_since     bigint, -- leases that were granted after this ledger may be forgotten
    paused         text, -- why no lease is granted until an operator ends it; NULL: not paused
    CHECK (grants_allowed = (grants_reason IS NULL)),
    CHECK ((held_until IS NULL) = (hold_reason IS NULL))
);

-- What the distribution account can spend. No row: not known yet, or not any more because ledgers were lost.
CREATE TABLE fairway.funds (
    only_row            boolean PRIMARY KEY WITH (deduplicate_items = off) DEFAULT true CHECK (only_row),
    ledger              bigint NOT NULL, -- as of which the account is known
    -- Amounts in stroops. An account that does not exist has 0 of everything.
    balance             bigint NOT NULL,
    reserves            bigint NOT NULL, -- base reserves that the balance must cover
    selling_liabilities bigint NOT NULL,
    base_reserve        bigint NOT NULL, -- of the network
    spendable           bigint NOT NULL CHECK (spendable >= 0),
    cannot_sign         boolean NOT NULL DEFAULT false -- its own key does not reach the thresholds of a fee bump
);
