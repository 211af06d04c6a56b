-- What clients with limits use, counted for all replicas together.

-- One row for each client that has had a limit on its leases. A client without limits has none and costs nothing.
CREATE TABLE fairway.client_usage (
    client      text PRIMARY KEY WITH (deduplicate_items = off),
    open_leases bigint NOT NULL DEFAULT 0,
    busy_until  timestamptz NOT NULL DEFAULT '-infinity', -- when, at its limit of leases a second, all its leases so far would be granted
    counted     boolean NOT NULL DEFAULT false, -- open_leases is exact
    writers     xid8 -- while it is not: every transaction that may have granted or ended leases without seeing this row is older
) WITH (fillfactor = 50);

CREATE TRIGGER count_leases
    AFTER UPDATE ON fairway.channel_accounts REFERENCING OLD TABLE AS before NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION fairway.count_leases();

-- What the fee bumps of a client with a limit of stroops a day may cost: of each lease the highest.
CREATE TABLE fairway.client_fees (
    client  text PRIMARY KEY WITH (deduplicate_items = off),
    day     date NOT NULL, -- UTC
    stroops bigint NOT NULL -- of that day
) WITH (fillfactor = 50);
