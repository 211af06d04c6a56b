-- What each of these clients has spent today (UTC), if it has a row.
CREATE OR REPLACE FUNCTION fairway.fees_today(clients text[]) RETURNS TABLE (ordinal bigint, stroops bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE
    today constant date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
BEGIN
    RETURN QUERY
        SELECT n.ordinal, CASE WHEN f.day < today THEN 0 ELSE f.stroops END
        FROM unnest(clients) WITH ORDINALITY n (client, ordinal)
        CROSS JOIN LATERAL (SELECT * FROM fairway.client_fees c
            WHERE c.client BETWEEN n.client AND n.client ORDER BY c.client DESC LIMIT 1) f;
END $$;
