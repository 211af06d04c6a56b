-- What clients use, counted for all replicas together.

-- The open leases of each client that has had one: count_leases() keeps the number. '' (AUTH=none) is nobody and has no row. A client with
-- contractPercent has another row for each contract that one of its open leases calls, whose name is contract_row().
CREATE TABLE fairway.client_usage (
    client      text PRIMARY KEY WITH (deduplicate_items = off),
    open_leases bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- What the fee bumps of a client with a limit of stroops a day may cost: of each open lease the highest; of one that has ended, the fee charged.
CREATE TABLE fairway.client_fees (
    client  text PRIMARY KEY WITH (deduplicate_items = off),
    day     date NOT NULL, -- UTC
    stroops bigint NOT NULL -- of that day
) WITH (fillfactor = 50);
