CREATE OR REPLACE FUNCTION fairway.write_funds(ledger bigint, balance bigint, reserves bigint, selling_liabilities bigint, base_reserve bigint,
    spendable bigint, cannot_sign boolean DEFAULT false) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO fairway.funds (ledger, balance, reserves, selling_liabilities, base_reserve, spendable, cannot_sign) VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (only_row) DO UPDATE
    SET (ledger, balance, reserves, selling_liabilities, base_reserve, spendable, cannot_sign) = ($1, $2, $3, $4, $5, $6, $7)
$$;
