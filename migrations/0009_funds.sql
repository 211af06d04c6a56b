-- What the distribution account can spend. Written in the ledger transaction by the replica that leads, read by every grant.
-- No row: not known yet, or not any more because ledgers were lost.

CREATE TABLE fairway.funds (
    only_row            boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    ledger              bigint NOT NULL, -- as of which the account is known
    -- Amounts in stroops. An account that does not exist has 0 of everything.
    balance             bigint NOT NULL,
    reserves            bigint NOT NULL, -- base reserves that the balance must cover
    selling_liabilities bigint NOT NULL,
    base_reserve        bigint NOT NULL, -- of the network
    spendable           bigint NOT NULL CHECK (spendable >= 0)
);
