-- Records signed fee bumps, one by an item of each array, and returns the items whose leases are open: refused_by is the limit that
-- forbids the fee bump, which is not recorded then. A limit of 0 is none. One that was recorded before is recorded; only fee bumps with
-- another hash count. One that follows another bid (replaced) does not count in the number of them. Items without a hash are passed over. The locks keep the leases open until COMMIT, and make the limits exact: first the
-- accounts, in order, then the clients.
CREATE OR REPLACE FUNCTION fairway.record_fee_bumps(hashes bytea[], leases bytea[], fees bigint[], sources text[], clients text[],
    bumps_max bigint[], stroops_max bigint[], replaced bytea[] DEFAULT NULL)
RETURNS TABLE (ordinal bigint, refused_by text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    item record;
    first timestamptz; -- of the leases
    last timestamptz;
    lease bytea; -- the one of the item before
    bumps bigint; -- of that lease
    highest bigint; -- of their fees
    limited text[]; -- clients with a limit of stroops, in the order of their rows' locks
    today date;
    spent bigint[] := '{}'; -- by each of them, on this day
    place bigint; -- of the item's client in limited; NULL: it has no limit
    added bigint;
    taken bigint[] := '{}'; -- ordinals of what is new
    taken_hashes bytea[] := '{}'; -- and their hashes
BEGIN
    SELECT min(a.locked_at), max(a.locked_at) INTO first, last
        FROM (SELECT u.source, u.lease_hash FROM unnest(sources, leases) u (source, lease_hash) GROUP BY 1, 2
            ORDER BY u.source COLLATE "C" OFFSET 0) n
        CROSS JOIN LATERAL (SELECT c.locked_at FROM fairway.channel_accounts c
            WHERE c.public_key BETWEEN n.source AND n.source AND c.lease_hash = n.lease_hash
            ORDER BY c.public_key DESC LIMIT 1 FOR NO KEY UPDATE) a;
    IF 0 < ANY (stroops_max) THEN
        limited := ARRAY(SELECT DISTINCT n.client FROM unnest(clients, stroops_max) n (client, stroops_max)
            WHERE n.stroops_max > 0 ORDER BY 1);
        PERFORM fairway.lock_fees(limited);
        today := clock_timestamp()::date;
        spent := ARRAY(SELECT CASE WHEN f.day < today THEN 0 ELSE f.stroops END
            FROM unnest(limited) n CROSS JOIN LATERAL fairway.newest_fees(n) f ORDER BY n);
    END IF;
    -- A statement of its own: its snapshot sees what every earlier holder of the locks has committed.
    FOR item IN
        SELECT n.ordinal, n.hash, n.lease_hash, n.fee, n.client, n.bumps_max, n.stroops_max,
            f.bumps, f.highest, f.again
        FROM unnest(hashes, leases, fees, sources, clients, bumps_max, stroops_max) WITH ORDINALITY
            AS n (hash, lease_hash, fee, source, client, bumps_max, stroops_max, ordinal)
        CROSS JOIN LATERAL fairway.newest_account(n.source) a
        CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE NOT b.raise) AS bumps, coalesce(max(b.fee), 0) AS highest,
                coalesce(bool_or(b.hash = n.hash), false) AS again
            FROM fairway.fee_bumps b
            WHERE b.granted_at = a.locked_at AND b.lease_hash = n.lease_hash AND b.granted_at BETWEEN first AND last) f
        WHERE a.lease_hash = n.lease_hash AND n.hash IS NOT NULL
        ORDER BY n.client, n.lease_hash, n.ordinal
    LOOP
        place := array_position(limited, item.client);
        IF lease IS DISTINCT FROM item.lease_hash THEN
            lease := item.lease_hash;
            bumps := item.bumps;
            highest := item.highest;
        END IF;
        ordinal := item.ordinal;
        added := greatest(item.fee - highest, 0); -- only one fee bump of a lease can get into a ledger
        refused_by := CASE
            WHEN item.again OR item.hash = ANY (taken_hashes) THEN NULL
            WHEN item.bumps_max > 0 AND bumps >= item.bumps_max THEN 'feeBumps'
            WHEN item.stroops_max > 0 AND added > item.stroops_max - spent[place] AND added > 0 THEN 'stroopsPerDay'
            END;
        IF refused_by IS NULL AND NOT item.again AND item.hash <> ALL (taken_hashes) THEN
            taken := taken || item.ordinal;
            taken_hashes := taken_hashes || item.hash;
            bumps := bumps + (replaced[item.ordinal] IS NULL)::integer;
            highest := highest + added;
            IF item.stroops_max > 0 AND added > 0 THEN
                spent[place] := spent[place] + added;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
    IF limited IS NOT NULL THEN
        UPDATE fairway.client_fees f SET stroops = n.spent, day = greatest(f.day, today)
            FROM unnest(limited, spent) n (client, spent) CROSS JOIN LATERAL fairway.newest_fees(n.client) newest
            WHERE f.ctid = newest.place AND (f.day, f.stroops) <> (greatest(f.day, today), n.spent);
    END IF;
    IF taken <> '{}' THEN
        INSERT INTO fairway.fee_bumps (hash, lease_hash, granted_at, fee, raise)
            SELECT hashes[t.n], leases[t.n], a.locked_at, fees[t.n], replaced[t.n] IS NOT NULL FROM unnest(taken) t (n)
            CROSS JOIN LATERAL fairway.newest_account(sources[t.n]) a;
    END IF;
END $$;
