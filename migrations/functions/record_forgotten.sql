-- Records leases that the database has forgotten, which the ledger of the cursor has: nobody's, so that whoever has the hash learns what became of it.
CREATE OR REPLACE FUNCTION fairway.record_forgotten(hashes bytea[], accounts text[], sequences bigint[], codes text[], ledger_hashes bytea[],
    result_xdrs bytea[], return_values bytea[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    moment constant timestamptz := clock_timestamp();
BEGIN
    PERFORM fairway.add_partitions(moment::date, moment::date) WHERE to_regclass(to_char(moment, '"fairway.idempotency_keys_"YYYYMMDD')) IS NULL;
    INSERT INTO fairway.leases (granted_at, sequence, max_time, hash, account, client, request_id, envelope)
        SELECT moment, n.sequence, 0, n.hash, n.account, '*', '', '' FROM unnest(hashes, accounts, sequences) n (hash, account, sequence);
    INSERT INTO fairway.lease_results (granted_at, ledger, ended_ledger, place, hash, result, result_code, ledger_hash, result_xdr, return_value)
        SELECT moment, c.sequence, c.sequence, 0, n.hash, CASE n.code WHEN 'txSUCCESS' THEN 'confirmed' ELSE 'failed' END, n.code, n.ledger_hash, n.result,
            n.returned FROM unnest(hashes, codes, ledger_hashes, result_xdrs, return_values) n (hash, code, ledger_hash, result, returned), fairway.cursor c;
END $$;
