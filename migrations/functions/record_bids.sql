-- Records fee bumps, as record_fee_bumps() does, and those with an envelope as submissions (record_submissions).
CREATE OR REPLACE FUNCTION fairway.record_bids(hashes bytea[], leases bytea[], fees bigint[], sources text[], clients text[],
    bumps_max bigint[], stroops_max bigint[], envelopes bytea[], max_fees bigint[], bid_envelopes bytea[], raised bytea[])
RETURNS TABLE (ordinal bigint, refused_by text, is_first boolean, sent_ledger bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    places bigint[];
    refusals text[];
BEGIN
    -- A raise is never refused by a limit, but counts, because settle_fees() takes the highest fee bump from what was counted.
    stroops_max := ARRAY(SELECT CASE WHEN n.raises IS NULL OR NOT EXISTS (SELECT FROM fairway.client_fees f
                WHERE f.client BETWEEN n.client AND n.client) THEN n.most ELSE 9223372036854775807 END
        FROM unnest(clients, stroops_max, raised) WITH ORDINALITY AS n (client, most, raises, place) ORDER BY n.place);
    SELECT array_agg(r.ordinal), array_agg(r.refused_by) INTO places, refusals
        FROM fairway.record_fee_bumps(hashes, leases, fees, sources, clients, bumps_max, stroops_max) r;
    RETURN QUERY
        SELECT p.place, p.refusal, coalesce(s.is_first, false), coalesce(s.sent_ledger, 0) FROM unnest(places, refusals) p (place, refusal)
        LEFT JOIN fairway.record_submissions(leases, sources, envelopes, max_fees, fees, hashes, bid_envelopes, raised) s
            ON s.ordinal = p.place;
END $$;
