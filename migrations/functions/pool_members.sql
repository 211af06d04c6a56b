-- Which of these addresses are accounts of the pool, by their position from 1.
CREATE OR REPLACE FUNCTION fairway.pool_members(addresses text[]) RETURNS SETOF bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT n.ordinal FROM unnest(addresses) WITH ORDINALITY AS n (address, ordinal)
        WHERE (SELECT a.public_key FROM fairway.channel_accounts a WHERE a.public_key = n.address) IS NOT NULL;
END $$;
