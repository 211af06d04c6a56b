-- The oracle's history. Observations are only appended; judge.mjs derives the rest from them. An ordinal is the position of a
-- transaction in the commit order of the database under test: no clock orders anything here.
CREATE EXTENSION btree_gist;

-- Observed in the write-ahead log of the database under test.
CREATE TABLE wal_transaction (ordinal bigint PRIMARY KEY, committed_at timestamptz NOT NULL);
CREATE TABLE grant_made (ordinal bigint NOT NULL, hash text NOT NULL, account text NOT NULL, sequence bigint NOT NULL,
    max_time bigint NOT NULL, max_ledger bigint, envelope text NOT NULL);
CREATE TABLE lease_end (ordinal bigint NOT NULL, hash text NOT NULL, result text NOT NULL, ledger bigint NOT NULL);
-- the state after the transaction
CREATE TABLE account_change (ordinal bigint NOT NULL, account text NOT NULL, state text NOT NULL, sequence bigint, lease text);
CREATE TABLE ledger_commit (ordinal bigint NOT NULL, sequence bigint NOT NULL, close_time bigint NOT NULL);
CREATE TABLE cursor_change (ordinal bigint NOT NULL, sequence bigint NOT NULL, term bigint NOT NULL);
CREATE TABLE bump_recorded (ordinal bigint NOT NULL, hash text NOT NULL, lease text NOT NULL, fee bigint NOT NULL);
-- A row of submissions that came or went: fairway sends the lease's transaction between the two.
CREATE TABLE submission_change (ordinal bigint NOT NULL, kind text NOT NULL CHECK (kind IN ('INSERT', 'DELETE')), lease text NOT NULL);
-- A key 'token:...' is made from the token of a request without an Idempotency-Key.
CREATE TABLE key_taken (ordinal bigint NOT NULL, client text NOT NULL, idempotency_key text NOT NULL, lease text NOT NULL);
-- A row of leases, results, fee bumps or keys that was changed or deleted. Such rows go only by dropping the partition of a day.
CREATE TABLE history_change (ordinal bigint NOT NULL, table_name text NOT NULL, kind text NOT NULL, hash text);

-- Observed by clients: the responses of fairway, and those of the network to what they submitted.
CREATE TABLE signature (received_at timestamptz NOT NULL, kind text NOT NULL CHECK (kind IN ('lease', 'fee bump')), hash text NOT NULL,
    inner_hash text, account text NOT NULL, sequence bigint NOT NULL, max_time bigint NOT NULL, envelope text NOT NULL,
    idempotency_key text);
-- Each 2xx to a request with an Idempotency-Key; digest: SHA-256 of what in it must not change.
CREATE TABLE keyed_answer (idempotency_key text NOT NULL, digest text NOT NULL);
-- Each request of a contest, in which all replicas run and accounts are scarce: the replica, how long its response took, and the
-- response. No status: there was no response.
CREATE TABLE contest_request (contest integer NOT NULL, replica integer NOT NULL, waited_ms integer NOT NULL, status integer, code text);
-- What a client let fairway send, with its cap of the fee, if it had one: reported before it was asked, but a call when it was answered.
CREATE TABLE asked (lease text NOT NULL, max_fee bigint);
CREATE TABLE submission (hash text NOT NULL, status text NOT NULL, code integer, node_ledger bigint NOT NULL,
    sequence_ledger bigint NOT NULL);

-- Observed in the network itself. A consumption is an account's sequence number after a ledger that created it or changed the number;
-- a removal is the ledger in which an account was merged. `queued` is what waited in the node when a ledger's transactions were chosen: lease
-- is the hash of the innermost transaction.
CREATE TABLE ledger (sequence bigint PRIMARY KEY, close_time bigint NOT NULL, closed_at timestamptz NOT NULL);
CREATE TABLE queued (ledger bigint NOT NULL, hash text NOT NULL, lease text NOT NULL, fee bigint NOT NULL);
CREATE TABLE consumption (ledger bigint NOT NULL, account text NOT NULL, sequence bigint NOT NULL);
CREATE TABLE removal (ledger bigint NOT NULL, account text NOT NULL);
CREATE TABLE inclusion (ledger bigint NOT NULL, hash text NOT NULL, success boolean NOT NULL, bid bigint NOT NULL, charged bigint NOT NULL);

-- Observed by the faults: what they killed.
CREATE TABLE kill (at timestamptz NOT NULL, target text NOT NULL, how text NOT NULL);

-- The end of the run: the tables of the database under test, the required size of the pool, and every account of the network whose
-- reserve is sponsored. Of the leases that were settled before the run (tests/faults/history.sql), with their results and fee bumps: the
-- numbers of rows and keys that had to stay and have stayed, and those of rows and keys that were too old when the run began and are
-- still there.
CREATE TABLE final_pool (wanted bigint NOT NULL);
CREATE TABLE final_history (seeded bigint NOT NULL, kept bigint NOT NULL, keys_seeded bigint NOT NULL, keys_kept bigint NOT NULL,
    old_left bigint NOT NULL, old_keys_left bigint NOT NULL);
CREATE TABLE final_lease (hash text NOT NULL, account text NOT NULL, result text, ledger bigint);
CREATE TABLE final_key (client text NOT NULL, idempotency_key text NOT NULL, lease text NOT NULL);
CREATE TABLE final_submission (lease text NOT NULL);
CREATE TABLE final_account (account text NOT NULL, state text NOT NULL, sequence bigint, lease text);
CREATE TABLE final_cursor (sequence bigint NOT NULL, term bigint NOT NULL);
CREATE TABLE final_network (account text NOT NULL, sequence bigint NOT NULL);

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE 'the history is append-only';
END $$;
DO $$
DECLARE observed text;
BEGIN
    FOR observed IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %I EXECUTE FUNCTION refuse()', observed);
    END LOOP;
END $$;

CREATE INDEX ON wal_transaction (committed_at);
CREATE INDEX ON grant_made (hash);
CREATE INDEX ON key_taken (idempotency_key);
CREATE INDEX ON key_taken (lease);
CREATE INDEX ON keyed_answer (idempotency_key);
CREATE INDEX ON removal (account);
CREATE INDEX ON lease_end (hash);
CREATE INDEX ON lease_end (ordinal);
CREATE INDEX ON account_change (account, ordinal);
CREATE INDEX ON ledger_commit (sequence);
CREATE INDEX ON ledger_commit (ordinal);
CREATE INDEX ON bump_recorded (hash);
CREATE INDEX ON signature (hash);
CREATE INDEX ON ledger (close_time, sequence);
CREATE INDEX ON consumption (account, sequence, ledger);
CREATE INDEX ON consumption (account, ledger);
CREATE INDEX ON inclusion (hash);
CREATE INDEX ON queued (lease, ledger);
CREATE INDEX ON submission_change (lease);
CREATE INDEX ON asked (lease);

-- Derived: how each lease must end, from the network's ledgers alone. `over` is the ledger that consumed its sequence number, or else
-- the first that closed after its max time or was the last below its max ledger. When the network was ahead of the grant, the first
-- ledger that was committed after the grant ends the lease. `dead` is the first ledger that cannot include the envelope.
CREATE TABLE lease_life (ordinal bigint NOT NULL, hash text NOT NULL, account text NOT NULL, sequence bigint NOT NULL,
    cursor bigint, consumed bigint, bound bigint, dead bigint, over bigint, end_ordinal bigint, last_ordinal bigint, result text);

-- Each ledger that could have included what fairway sends under a cap with room for raises: whether a bid of it waited in the node, and whether fairway had followed the
-- network that far when it closed.
CREATE TABLE sending (lease text NOT NULL, ledger bigint NOT NULL, live boolean NOT NULL, followed boolean NOT NULL);

-- Lease intervals, in ordinals. The constraint refuses two overlapping leases of one account.
CREATE TABLE lease_interval (hash text NOT NULL, account text NOT NULL, during int8range NOT NULL,
    EXCLUDE USING gist (account WITH =, during WITH &&));
-- The ledgers that may include a signed envelope. The constraint refuses two envelopes with one sequence number for one ledger.
CREATE TABLE includable (hash text NOT NULL, account text NOT NULL, sequence bigint NOT NULL, ledgers int8range NOT NULL,
    EXCLUDE USING gist (account WITH =, sequence WITH =, ledgers WITH &&));
