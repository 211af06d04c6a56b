-- What tests begin with: accounts of a pool, leases, ledgers. In each test's database, in schema public. Numbers name accounts and leases: leases n and
-- n + 1000 are of account n.
CREATE FUNCTION account(n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'G' || translate(lpad((n % 1000)::text, 55, '0'), '0123456789', 'ABCDEFGHIJ') $$;
CREATE FUNCTION lease_hash(n bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$ SELECT sha256(convert_to('lease ' || n, 'UTF8')) $$;
CREATE FUNCTION bid_hash(number bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$ SELECT sha256(convert_to('bid ' || number, 'UTF8')) $$;

-- Makes idle accounts 0, 1, ..., and ledger 1000, which has closed now.
CREATE FUNCTION fill_pool(count bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO fairway.master_keys (key_id) VALUES ('00000000000000aa') ON CONFLICT DO NOTHING;
    INSERT INTO fairway.ledgers (sequence, hash, previous_hash, protocol, close_time, transaction_count, settled_count)
        VALUES (1000, sha256('1000'), sha256('999'), 28, floor(extract(epoch FROM clock_timestamp())), 0, 0) ON CONFLICT DO NOTHING;
    INSERT INTO fairway.cursor (sequence, hash, close_time) SELECT sequence, hash, close_time FROM fairway.ledgers ON CONFLICT DO NOTHING;
    INSERT INTO fairway.channel_accounts (public_key, slot, sealed_seed, key_id, sequence, sequence_ledger, state)
        SELECT account(n), n, decode(repeat('00', 72), 'hex'), '00000000000000aa', 100, 1000, 'active' FROM generate_series(0, count - 1) n;
END $$;

-- Records leases in one batch, of 60 s, and tells what became of each. An array of one item is of all leases.
CREATE FUNCTION leases(numbers bigint[], clients text[] DEFAULT '{""}', open_max bigint DEFAULT 0, contracts text[] DEFAULT '{NULL}',
    contract_max bigint DEFAULT 0, keys text[] DEFAULT '{NULL}') RETURNS text LANGUAGE sql AS $$
    WITH i AS (SELECT t.nth, t.n, a.sequence, a.sequence_ledger, coalesce(clients[t.nth], clients[1]) AS client,
            CASE cardinality(contracts) WHEN 1 THEN contracts[1] ELSE contracts[t.nth] END AS contract,
            CASE cardinality(keys) WHEN 1 THEN keys[1] ELSE keys[t.nth] END AS key
            FROM unnest(numbers) WITH ORDINALITY t (n, nth) LEFT JOIN fairway.channel_accounts a ON a.public_key = account(t.n)),
        r AS (SELECT r.* FROM (SELECT array_agg(lease_hash(n) ORDER BY nth) AS hashes, array_agg(account(n) ORDER BY nth) AS accounts,
                array_agg(sequence + 1 ORDER BY nth) AS sequences, array_agg(sequence_ledger ORDER BY nth) AS ledgers,
                array_agg(client ORDER BY nth) AS clients, array_agg('envelope'::bytea) AS envelopes,
                array_agg(floor(extract(epoch FROM clock_timestamp()))::bigint + 60) AS times, array_agg(0::bigint) AS zeros,
                array_agg('request'::text) AS requests, array_agg(key ORDER BY nth) AS keys, array_agg(sha256('body')) AS digests,
                array_agg(open_max) AS open_max, array_agg(NULL::text) AS refs, array_agg(NULL::bytea) AS calls,
                array_agg(contract ORDER BY nth) AS contracts, array_agg(contract_max) AS contract_max FROM i) b
            CROSS JOIN LATERAL fairway.record_leases(b.hashes, b.accounts, b.sequences, b.ledgers, b.clients, b.envelopes, b.times, b.zeros,
                b.requests, b.keys, b.digests, b.open_max, b.refs, b.calls, b.contracts, b.contract_max) r)
    SELECT string_agg(CASE WHEN r.place IS NULL THEN 'openLeases' ELSE coalesce(r.refused_by, 'leased') END, ' ' ORDER BY i.nth)
    FROM i LEFT JOIN r ON r.place = i.nth
$$;
CREATE FUNCTION lease(n bigint, client text DEFAULT '', key text DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT leases(ARRAY[n], ARRAY[client], keys => ARRAY[key])
$$;

-- Commits a ledger that closes so many seconds after the last one.
CREATE FUNCTION ledger(seconds bigint DEFAULT 5, hold bigint DEFAULT 0) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    PERFORM fairway.append_ledger(c.sequence + 1, sha256(c.hash), c.hash, 28, c.close_time + seconds, 0, c.term, hold, 'gap', 0, 0) FROM fairway.cursor c;
END $$;
-- The last ledger ends lease n.
CREATE FUNCTION settle(n bigint, result text, state text DEFAULT 'active', fee bigint DEFAULT 0) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    PERFORM fairway.settle_accounts(ARRAY[account(n)], ARRAY[settle.state], ARRAY[a.lease_sequence], ARRAY[c.sequence], '{NULL}', ARRAY[result], '{NULL}',
        ARRAY[c.sequence], ARRAY[NULL::bytea], ARRAY[fee], ARRAY[NULL::bytea], ARRAY[NULL::bytea])
    FROM fairway.cursor c, fairway.channel_accounts a WHERE a.lease_hash = lease_hash(n);
END $$;
