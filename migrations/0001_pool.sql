-- The pool, its leases and the ledger position. What DESIGN section 1 promises stands here as constraints where SQL can say
-- it; each index names the statement that it serves. Every name is qualified: no session's search_path takes part.

-- One database serves one network, for one distribution account.
CREATE TABLE fairway.network (
    only_row             boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    passphrase           text NOT NULL,
    distribution_account text NOT NULL CHECK (distribution_account ~ '^G[A-Z2-7]{55}$')
);

-- How each master key is found again; the keys themselves are never here.
CREATE TABLE fairway.master_keys (
    key_id     text PRIMARY KEY CHECK (key_id ~ '^[0-9a-f]{16}$'),
    salt       bytea CHECK (octet_length(salt) = 16), -- of Argon2id; NULL: a key file
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A recent window of committed ledgers; the newest is the cursor's.
CREATE TABLE fairway.ledgers (
    sequence          bigint PRIMARY KEY CHECK (sequence BETWEEN 1 AND 4294967295),
    hash              bytea NOT NULL CHECK (octet_length(hash) = 32),
    previous_hash     bytea NOT NULL CHECK (octet_length(previous_hash) = 32),
    protocol          integer NOT NULL,
    close_time        bigint NOT NULL CHECK (close_time > 0), -- Unix seconds
    transaction_count integer NOT NULL,
    settled_count     integer NOT NULL,
    committed_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The last committed ledger, and the term of the ingester that may commit the next one.
CREATE TABLE fairway.cursor (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    sequence       bigint NOT NULL REFERENCES fairway.ledgers (sequence) DEFERRABLE INITIALLY DEFERRED,
    hash           bytea NOT NULL CHECK (octet_length(hash) = 32),
    close_time     bigint NOT NULL CHECK (close_time > 0),
    term           bigint NOT NULL DEFAULT 0,
    grants_allowed boolean NOT NULL DEFAULT true,
    grants_reason  text, -- why not
    CHECK (grants_allowed = (grants_reason IS NULL))
);

CREATE TABLE fairway.channel_accounts (
    public_key        text PRIMARY KEY CHECK (public_key ~ '^G[A-Z2-7]{55}$'),
    -- Dense and unchanging while the account lives; free again when it is retired. The claim draws random slots.
    slot              integer UNIQUE CHECK (slot >= 0),
    sealed_seed       bytea NOT NULL CHECK (octet_length(sealed_seed) = 72),
    key_id            text NOT NULL REFERENCES fairway.master_keys,
    -- The last sequence number consumed, and the ledger from which that is known.
    sequence          bigint,
    sequence_ledger   bigint,
    state             text NOT NULL CHECK (state IN ('creating', 'active', 'retiring', 'retired', 'quarantined')),
    quarantine_reason text,
    -- The open lease: all four or none. locked_until is for people, nothing is freed by it.
    lease_hash        bytea CHECK (octet_length(lease_hash) = 32),
    locked_at         timestamptz,
    locked_until      timestamptz,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK ((lease_hash IS NULL) = (locked_at IS NULL)),
    CHECK ((lease_hash IS NULL) = (locked_until IS NULL)),
    CHECK ((sequence IS NULL) = (sequence_ledger IS NULL)),
    CHECK ((slot IS NULL) = (state = 'retired')),
    CHECK ((quarantine_reason IS NULL) = (state <> 'quarantined')),
    CHECK (state <> 'active' OR sequence IS NOT NULL),
    CHECK (lease_hash IS NULL OR state IN ('active', 'retiring', 'quarantined'))
) WITH (fillfactor = 50); -- no index holds a column that a lease changes: with room on the page every update is HOT

CREATE TABLE fairway.leases (
    hash            bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    account         text NOT NULL REFERENCES fairway.channel_accounts (public_key),
    sequence        bigint NOT NULL,
    client          text NOT NULL, -- '' when nobody is authenticated
    idempotency_key text,
    request_digest  bytea,
    envelope        bytea NOT NULL, -- as answered: a retry returns these bytes, it never signs again
    max_time        bigint NOT NULL, -- Unix seconds
    max_ledger      bigint, -- exclusive; NULL: none
    request_id      text NOT NULL,
    granted_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    settled_at      timestamptz,
    result          text CHECK (result IN ('confirmed', 'failed', 'expired', 'superseded', 'consumed')),
    result_code     text, -- txSUCCESS, txFAILED ...: innermost, when the transaction was in a ledger
    ledger          bigint, -- the one whose commit settled it
    CHECK ((idempotency_key IS NULL) = (request_digest IS NULL)),
    CHECK ((settled_at IS NULL) = (result IS NULL)),
    CHECK ((settled_at IS NULL) = (ledger IS NULL))
);
-- Makes two open leases on one account impossible by itself; serves settling by account.
CREATE UNIQUE INDEX leases_open ON fairway.leases (account) WHERE settled_at IS NULL;
-- Serves the janitor's deletion.
CREATE INDEX leases_settled ON fairway.leases (settled_at) WHERE settled_at IS NOT NULL;

-- Fee bumps that were signed: found by their own hash.
CREATE TABLE fairway.fee_bumps (
    hash       bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    lease_hash bytea NOT NULL REFERENCES fairway.leases (hash) ON DELETE CASCADE,
    fee        bigint NOT NULL,
    signed_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- Serves the cascade.
CREATE INDEX fee_bumps_lease ON fairway.fee_bumps (lease_hash);

-- An account is leased exactly when an open lease names it, and that lease is the one it names. Two halves, because a
-- transaction writes leases first and accounts last (and each account once):
--   * whatever it did to a lease is checked at its COMMIT, row by row;
--   * whatever it did to accounts is checked when it has done it, a statement at a time.
-- Plans are cached for as long as a session lives; without sequential scans none is made that a growing table outgrows.

CREATE FUNCTION fairway.check_lease() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    named boolean := EXISTS (
        SELECT FROM fairway.channel_accounts a WHERE a.public_key = NEW.account AND a.lease_hash = NEW.hash);
BEGIN
    -- the row may have changed again since the event
    IF named IS DISTINCT FROM (NEW.settled_at IS NULL) AND named IS DISTINCT FROM EXISTS (
        SELECT FROM fairway.leases l WHERE l.hash = NEW.hash AND l.settled_at IS NULL)
    THEN
        RAISE integrity_constraint_violation
            USING MESSAGE = format('lease %s and account %s do not name each other', encode(NEW.hash, 'hex'), NEW.account);
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER lease_names_account
    AFTER INSERT OR UPDATE OF settled_at, account ON fairway.leases
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fairway.check_lease();

CREATE FUNCTION fairway.check_accounts() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    wrong text := (
        SELECT n.public_key FROM changed n
        WHERE n.lease_hash IS DISTINCT FROM (
            SELECT l.hash FROM fairway.leases l WHERE l.account = n.public_key AND l.settled_at IS NULL)
        LIMIT 1);
BEGIN
    IF wrong IS NOT NULL THEN
        RAISE integrity_constraint_violation
            USING MESSAGE = format('account %s and its open lease do not name each other', wrong);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER accounts_name_leases
    AFTER UPDATE ON fairway.channel_accounts REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION fairway.check_accounts();
CREATE TRIGGER new_accounts_name_leases
    AFTER INSERT ON fairway.channel_accounts REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION fairway.check_accounts();
