-- What each client uses now. slots: how many accounts the pool has; accounts that retired keep no slot. busy_until is never more than a
-- second ahead, unless the clock was set back since; it means nothing then.
CREATE OR REPLACE FUNCTION fairway.read_usage(clients text[])
RETURNS TABLE (ordinal bigint, open_leases bigint, ahead_us bigint, slots bigint) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM unnest(clients) n (client)
        WHERE (SELECT u.counted FROM fairway.client_usage u
            WHERE u.client BETWEEN n.client AND n.client ORDER BY u.client DESC LIMIT 1) IS NOT TRUE)
    THEN
        PERFORM fairway.count_clients(clients);
    END IF;
    RETURN QUERY
        SELECT n.ordinal, u.open_leases,
            CASE WHEN u.busy_until BETWEEN clock_timestamp() AND clock_timestamp() + interval '1 second'
                THEN ceil(extract(epoch FROM u.busy_until - clock_timestamp()) * 1000000)::bigint ELSE 0 END,
            (SELECT coalesce(max(a.slot) + 1, 0)::bigint FROM fairway.channel_accounts a)
        FROM unnest(clients) WITH ORDINALITY n (client, ordinal)
        CROSS JOIN LATERAL (SELECT * FROM fairway.client_usage c
            WHERE c.client BETWEEN n.client AND n.client ORDER BY c.client DESC LIMIT 1) u;
END $$;
