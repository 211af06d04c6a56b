-- The name of the row of fairway.client_usage that counts the open leases of this client for this contract; NULL without a contract. No client's
-- name has a slash (auth/clients).
CREATE OR REPLACE FUNCTION fairway.contract_row(client text, contract text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT $1 || '/' || $2 $$;
