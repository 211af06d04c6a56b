-- The rows of submissions (DL16): who claims them, what a bid, a raise and a rejection change, and that they go with their leases.
CREATE FUNCTION claim(most bigint, until bigint DEFAULT 1000000) RETURNS TABLE (lease integer, round bigint, asks bigint, earlier bigint) LANGUAGE sql AS $$
    SELECT a.slot, c.tip - c.round, c.asks, length(c.earlier) / 8 FROM fairway.claim_submissions(most, 300, 0, until) c
    JOIN fairway.channel_accounts a ON a.lease_hash = c.hash ORDER BY 1
$$;
CREATE FUNCTION answer(n bigint, number bigint, result bytea, asks bigint DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
    SELECT fairway.answer_submission(lease_hash(n), bid_hash(number), result, asks)
$$;
SELECT fill_pool(6);

-- DL16: a submission is claimed once in a ledger
SELECT count(lease(n)), count(bid(n, n, 200)) FROM generate_series(0, 4) n;
SELECT count(*) AS just_sent FROM claim(9);
SELECT ledger();
CREATE TABLE claimed AS SELECT * FROM claim(3);
SELECT count(*) FROM claimed;
INSERT INTO claimed SELECT * FROM claim(9);
SELECT * FROM claimed ORDER BY lease;
SELECT count(*) AS again FROM claim(9);

-- DL16: what was claimed first waits for the rest when ledgers close meanwhile
SELECT ledger();
SELECT sequence AS until FROM fairway.cursor \gset
TRUNCATE claimed;
INSERT INTO claimed SELECT * FROM claim(3, :until);
SELECT ledger();
INSERT INTO claimed SELECT * FROM claim(9, :until);
SELECT lease FROM claimed ORDER BY lease;
SELECT count(*) AS rest FROM claim(9, :until);
SELECT count(*) AS first FROM claim(9);

-- DL16: what has been due for longest is claimed first
SELECT ledger();
TRUNCATE claimed;
INSERT INTO claimed SELECT * FROM claim(2);
SELECT ledger();
INSERT INTO claimed SELECT * FROM claim(3);
SELECT lease FROM claimed ORDER BY lease;

-- DL16: the ledger that ends a lease deletes its submission
SELECT ledger();
SELECT settle(0, 'confirmed'), settle(1, 'failed'), settle(2, 'superseded');
SELECT lease_hash = lease_hash(3) AS open FROM fairway.submissions WHERE lease_hash <> lease_hash(4);
SELECT ledger(100);
SELECT settle(3, 'expired'), settle(4, 'expired');
SELECT (SELECT count(*) FROM fairway.submissions), (SELECT count(*) FROM fairway.bids);

-- DR2: recording a bid again changes nothing, as after a COMMIT whose reply was lost
SELECT lease(5);
SELECT * FROM bid(5, 11, 284, cap => 300);
SELECT * FROM bid(5, 11, 284, cap => 300);
SELECT * FROM bid(5, 12, 285, cap => 300, raises => 11);
SELECT * FROM bid(5, 12, 285, cap => 300, raises => 11);
SELECT * FROM bid(5, 11, 284, cap => 300);
SELECT bid, max_fee FROM fairway.submissions;
SELECT count(*) FROM fairway.fee_bumps WHERE lease_hash = lease_hash(5);

-- DL16: a raise does not replace what the client has submitted since
SELECT * FROM bid(5, 13, 285, cap => 300, envelope => 'signed by two');
SELECT * FROM bid(5, 14, 286, cap => 300, raises => 12);
SELECT bid, max_fee, bid_hash = bid_hash(13) AS sent FROM fairway.submissions;

-- DL16: a higher cap counts, and leaves the bid; a raise cannot raise it
SELECT * FROM bid(5, 15, 984, cap => 1000, envelope => 'signed by two');
SELECT * FROM bid(5, 16, 984, cap => 900, envelope => 'signed by two');
SELECT bid, max_fee, bid_hash = bid_hash(13) AS sent FROM fairway.submissions;
SELECT * FROM bid(5, 17, 990, cap => 3000, raises => 13, envelope => 'signed by two');
SELECT bid, max_fee FROM fairway.submissions;

-- DL16: other signatures are sent with a lower bid, and keep the cap
SELECT * FROM bid(5, 18, 200, envelope => 'signed by three');
SELECT bid, max_fee FROM fairway.submissions;

-- DL16: a rejection stops claims until the client submits it again, which is another bid
SELECT answer(5, 17, 'rejected'), ledger();
SELECT * FROM claim(9);
SELECT answer(5, 18, 'rejected'), ledger();
SELECT * FROM claim(9);
SELECT * FROM bid(5, 19, 991, envelope => 'signed by three');
SELECT * FROM bid(5, 19, 991, envelope => 'signed by three');
SELECT ledger();
SELECT * FROM claim(9);

-- DL16: what nodes ask for comes with each claim, until there is another bid
SELECT answer(5, 19, NULL, 2000), ledger();
SELECT * FROM claim(9);
SELECT ledger();
SELECT * FROM claim(9);
SELECT * FROM bid(5, 20, 1000, raises => 19, envelope => 'signed by three');
SELECT ledger();
SELECT * FROM claim(9);

-- DL16: a bid that no RPC was sent to is due at once, while it is the submission's
SELECT answer(5, 19, NULL);
SELECT count(*) AS of_another_bid FROM claim(9);
SELECT answer(5, 20, NULL);
SELECT * FROM claim(9);
SELECT count(*) AS again FROM claim(9);
