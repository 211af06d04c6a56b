-- The network, the master keys, and the pool of channel accounts with their open leases. README.md has the rules of this folder.

-- One database serves one network, for one distribution account.
CREATE TABLE fairway.network (
    only_row             boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    passphrase           text NOT NULL,
    distribution_account text NOT NULL CHECK (distribution_account ~ '^G[A-Z2-7]{55}$')
);

-- How each master key is found again. The keys themselves are never here.
CREATE TABLE fairway.master_keys (
    key_id     text PRIMARY KEY CHECK (key_id ~ '^[0-9a-f]{16}$'),
    salt       bytea CHECK (octet_length(salt) = 16), -- of Argon2id; NULL: a key file
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A CHECK of a column runs at each UPDATE of a row, the CHECK of a domain only when the column is assigned.
CREATE DOMAIN fairway.address AS text CHECK (VALUE ~ '^G[A-Z2-7]{55}$');

-- The open lease is columns of the account's row, so an account cannot have two. No index has one of them. fillfactor: two versions of a row for
-- each lease; as long as they fit on the page of the first one, the indexes get no new entries. An account takes 2.7 KB.
CREATE TABLE fairway.channel_accounts (
    public_key        fairway.address PRIMARY KEY WITH (deduplicate_items = off),
    -- Dense, and the same while the account lives; free again when it is retired. The claim begins at a random slot.
    slot              integer UNIQUE WITH (deduplicate_items = off) CHECK (slot >= 0),
    sealed_seed       bytea NOT NULL CHECK (octet_length(sealed_seed) = 72), -- the only copy of the key
    key_id            text NOT NULL REFERENCES fairway.master_keys,
    state             text NOT NULL CHECK (state IN ('creating', 'active', 'retiring', 'retired', 'quarantined')),
    quarantine_reason text,
    -- The last sequence number consumed, and the ledger from which that is known.
    sequence          bigint,
    sequence_ledger   bigint,
    -- The open lease: copies of its row in fairway.leases. All are set or none, but lease_max_ledger and lease_contract may always be NULL.
    lease_sequence    bigint,
    lease_max_time    bigint, -- Unix seconds. No clock frees an account
    lease_max_ledger  bigint, -- exclusive; NULL: none
    locked_at         timestamptz, -- granted_at of the lease
    lease_hash        bytea CHECK (octet_length(lease_hash) = 32),
    lease_client      text,
    lease_contract    text, -- by which it is counted too: in contract_row(lease_client, lease_contract). No copy
    CHECK ((sequence IS NULL) = (sequence_ledger IS NULL)),
    CHECK ((slot IS NULL) = (state = 'retired')),
    CHECK ((quarantine_reason IS NULL) = (state <> 'quarantined')),
    CHECK (state <> 'active' OR sequence IS NOT NULL),
    CHECK (lease_hash IS NULL OR state IN ('active', 'retiring', 'quarantined')),
    CHECK (num_nulls(lease_hash, lease_client, lease_sequence, lease_max_time, locked_at) IN (0, 5)),
    CHECK (lease_hash IS NOT NULL OR num_nulls(lease_max_ledger, lease_contract) = 2)
) WITH (fillfactor = 10);

CREATE TRIGGER accounts_stay BEFORE DELETE OR TRUNCATE ON fairway.channel_accounts
    FOR EACH STATEMENT EXECUTE FUNCTION fairway.keep_rows('A row may hold the only copy of a key: fairway accounts retire');

-- The accounts of the pool: all but those that are retired, which have no slot and no lease. A scan of the table costs least while its file is
-- small. When old versions have made the file many times as large as its accounts, each slot is looked up by itself, newest version first.
CREATE VIEW fairway.pool_accounts AS
    WITH pool AS MATERIALIZED (
        SELECT s.slots, pg_relation_size('fairway.channel_accounts') <= s.slots::bigint * 16384 AS small
        FROM (SELECT max(m.slot) + 1 AS slots FROM fairway.channel_accounts m) s)
    SELECT a.* FROM fairway.channel_accounts a WHERE a.state <> 'retired' AND (SELECT p.small FROM pool p)
    UNION ALL
    SELECT b.* FROM pool p CROSS JOIN LATERAL generate_series(0, p.slots - 1) n
    CROSS JOIN LATERAL (SELECT * FROM fairway.channel_accounts c WHERE c.slot BETWEEN n AND n ORDER BY c.slot DESC LIMIT 1) b
    WHERE NOT p.small;

-- The seals that rotate-master-key has replaced, until it has replaced all. Only the owner of the tables writes them (reseal_accounts).
CREATE TABLE fairway.old_seals (
    public_key  text PRIMARY KEY REFERENCES fairway.channel_accounts,
    sealed_seed bytea NOT NULL CHECK (octet_length(sealed_seed) = 72),
    key_id      text NOT NULL REFERENCES fairway.master_keys
);

-- How many requests of each replica wait for an account, while accounts are too few. Each claim of the replica adds a row, and housekeeping
-- deletes them. No row is changed, so nobody waits for a lock, and a reader of the last second meets no old version.
CREATE UNLOGGED TABLE fairway.waiting (
    replica bigint NOT NULL, -- a random number
    waiting bigint NOT NULL,
    taken   bigint NOT NULL, -- accounts, by this claim
    seen_at timestamptz NOT NULL
);
CREATE INDEX waiting_seen_at ON fairway.waiting (seen_at);

-- The newest report of each replica. One that is older than a second does not count: its replica has stopped.
CREATE VIEW fairway.waiting_now AS
    SELECT DISTINCT ON (w.replica) w.replica, w.waiting FROM fairway.waiting w
    WHERE w.seen_at BETWEEN statement_timestamp() - interval '1 s' AND statement_timestamp() + interval '1 s'
    ORDER BY w.replica, w.seen_at DESC;
