-- What tests begin with: accounts of a pool, leases, ledgers. In each test's database, in schema public. Numbers name accounts and leases: leases n and
-- n + 1000 are of account n.
CREATE FUNCTION account(n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'G' || translate(lpad((n % 1000)::text, 55, '0'), '0123456789', 'ABCDEFGHIJ') $$;
CREATE FUNCTION lease_hash(n bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$ SELECT sha256(convert_to('lease ' || n, 'UTF8')) $$;
CREATE FUNCTION bid_hash(number bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$ SELECT sha256(convert_to('bid ' || number, 'UTF8')) $$;

-- Makes idle accounts 0, 1, ..., and ledger 1000, which has closed now.
CREATE FUNCTION fill_pool(count bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO fairway.master_keys (key_id) VALUES ('00000000000000aa') ON CONFLICT DO NOTHING;
    INSERT INTO fairway.ledgers (sequence, hash, protocol, close_time, transaction_count)
        VALUES (1000, sha256('1000'), 28, floor(extract(epoch FROM clock_timestamp())), 0) ON CONFLICT DO NOTHING;
    INSERT INTO fairway.cursor (sequence, hash, close_time) SELECT sequence, hash, close_time FROM fairway.ledgers ON CONFLICT DO NOTHING;
    INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, sequence, sequence_ledger, state)
        SELECT account(n), n, decode(repeat('00', 72), 'hex'), '00000000000000aa', 100, 1000, 'active' FROM generate_series(0, count - 1) n;
END $$;

-- Records leases in one batch, of 60 s. An array of one item is of all leases. claims: 'AB' has the claims A and B.
CREATE FUNCTION leases(numbers bigint[], clients text[] DEFAULT '{""}', open_max bigint DEFAULT 0, contracts text[] DEFAULT '{NULL}',
    contract_max bigint DEFAULT 0, keys text[] DEFAULT '{NULL}', claims text[] DEFAULT NULL, until bigint DEFAULT 2000) RETURNS text LANGUAGE sql AS $$
    SELECT 'leased' FROM (SELECT array_agg(lease_hash(n) ORDER BY nth) AS hashes, array_agg(account(n) ORDER BY nth) AS accounts,
            array_agg(sequence + 1 ORDER BY nth) AS sequences, array_agg(sequence_ledger ORDER BY nth) AS ledgers,
            array_agg(client ORDER BY nth) AS clients, array_agg('envelope'::bytea) AS envelopes,
            array_agg(floor(extract(epoch FROM clock_timestamp()))::bigint + 60) AS times, array_agg(0::bigint) AS zeros,
            array_agg('request'::text) AS requests, array_agg(key ORDER BY nth) AS keys, array_agg(sha256('body')) AS digests,
            array_agg(open_max) AS open_max, array_agg(NULL::text) AS refs, array_agg(sha256(convert_to(claims[nth], 'UTF8')) ORDER BY nth) AS calls,
            array_agg(contract ORDER BY nth) AS contracts, array_agg(contract_max) AS contract_max
        FROM (SELECT t.nth, t.n, a.sequence, a.sequence_ledger, coalesce(clients[t.nth], clients[1]) AS client,
            CASE cardinality(contracts) WHEN 1 THEN contracts[1] ELSE contracts[t.nth] END AS contract,
            CASE cardinality(keys) WHEN 1 THEN keys[1] ELSE keys[t.nth] END AS key
            FROM unnest(numbers) WITH ORDINALITY t (n, nth) LEFT JOIN fairway.channel_accounts a ON a.public_key = account(t.n)) i) b
        CROSS JOIN (SELECT array_agg(t.nth) AS places, array_agg(convert_to(claim, 'UTF8')) AS claims, array_agg(until) AS ledgers
            FROM unnest(claims) WITH ORDINALITY t (claims, nth), regexp_split_to_table(t.claims, '') claim) c
        CROSS JOIN LATERAL fairway.record_leases(b.hashes, b.accounts, b.sequences, b.ledgers, b.clients, b.envelopes, b.times, b.zeros,
            b.requests, b.keys, b.digests, b.open_max, b.refs, b.calls, b.contracts, b.contract_max, c.places, c.claims, c.ledgers) r
$$;
CREATE FUNCTION lease(n bigint, client text DEFAULT '', key text DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT leases(ARRAY[n], ARRAY[client], keys => ARRAY[key])
$$;

-- Commits a ledger that closes so many seconds after the last one.
CREATE FUNCTION ledger(seconds bigint DEFAULT 5, hold bigint DEFAULT 0) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    PERFORM fairway.append_ledger(c.sequence + 1, sha256(c.hash), 28, c.close_time + seconds, 0, c.term, hold, 'gap', 0, 0) FROM fairway.cursor c;
END $$;
-- The last ledger ends lease n.
CREATE FUNCTION settle(n bigint, result text, state text DEFAULT 'active', fee bigint DEFAULT 0) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    PERFORM fairway.settle_accounts(ARRAY[account(n)], ARRAY[settle.state], ARRAY[a.lease_sequence], ARRAY[c.sequence], '{NULL}', ARRAY[result], '{NULL}',
        ARRAY[c.sequence], ARRAY[NULL::bytea], ARRAY[fee], ARRAY[NULL::bytea], ARRAY[NULL::bytea])
    FROM fairway.cursor c, fairway.channel_accounts a WHERE a.lease_hash = lease_hash(n);
END $$;
-- Records a bid for lease n, and tells whether it is the first and whether it is sent now.
CREATE FUNCTION bid(n bigint, number bigint, fee bigint, cap bigint DEFAULT 400, raises bigint DEFAULT NULL, envelope text DEFAULT 'signed',
    OUT is_first boolean, OUT sent boolean) LANGUAGE sql AS $$
    SELECT r.is_first, r.sent_ledger > 0 FROM fairway.record_bids(ARRAY[bid_hash(number)], ARRAY[lease_hash(n)], ARRAY[fee], ARRAY[account(n)], '{""}',
        '{0}', '{0}', ARRAY[bid_hash(raises)], ARRAY[sha256(convert_to(envelope, 'UTF8'))], ARRAY[cap], ARRAY[('bid ' || number)::bytea]) r
$$;
-- What becomes of a statement.
CREATE FUNCTION try(statement text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
    EXECUTE statement;
    RETURN 'done';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;

-- Pages of fairway's tables and indexes that a statement reads. Its changes are undone, unless `keep`.
CREATE FUNCTION measure(statement text, keep boolean DEFAULT false) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    fetched constant text := 'SELECT sum(pg_stat_get_xact_blocks_fetched(oid)) FROM pg_class WHERE relnamespace = ''fairway''::regnamespace';
    before bigint;
    after bigint;
BEGIN
    EXECUTE fetched INTO before;
    BEGIN
        EXECUTE statement;
        IF NOT keep THEN
            RAISE SQLSTATE 'UNDO0';
        END IF;
    EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
    END;
    EXECUTE fetched INTO after;
    RETURN after - before;
END $$;
-- Whether a number is in bounds; else the number.
CREATE FUNCTION at_most(number bigint, most bigint) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN number BETWEEN 1 AND most THEN 'at most ' || most ELSE number::text END
$$;
-- Whether a statement reads at most so many pages, when the session has planned it.
CREATE FUNCTION reads(statement text, most bigint) RETURNS text LANGUAGE sql AS $$
    SELECT at_most(CASE WHEN measure(statement) IS NOT NULL THEN measure(statement) END, most)
$$;
-- Lets the statistics of all tables say this; NULL: the truth. As faults/statistics.mjs.
CREATE FUNCTION say(rows bigint, visible integer DEFAULT 0) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    ANALYZE;
    UPDATE pg_class SET reltuples = rows, relpages = 1, relallvisible = visible
        WHERE rows IS NOT NULL AND relnamespace = 'fairway'::regnamespace AND relkind IN ('r', 'i');
END $$;
-- So that statistics change only when the test says so.
CREATE FUNCTION no_autovacuum() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'fairway'::regnamespace AND relkind = 'r' LOOP
        EXECUTE format('ALTER TABLE fairway.%I SET (autovacuum_enabled = off)', name);
    END LOOP;
END $$;
