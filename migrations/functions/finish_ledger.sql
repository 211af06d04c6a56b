-- The last statement of a ledger transaction: how many leases the ledger ended in each way (ledgers.ends), and what
-- became of these transactions of ensure-accounts. Each is decided once. Every replica is notified, whose submissions are due.
CREATE OR REPLACE FUNCTION fairway.finish_ledger(ended bigint[], submissions bigint[], states text[], codes text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT pg_notify('fairway_pool', '');
    UPDATE fairway.ledgers g SET ends = ended FROM fairway.cursor c WHERE g.sequence = c.sequence AND 0 < ANY (ended);
    UPDATE fairway.provisioning p SET state = n.state, result_code = n.code, ledger = c.sequence
        FROM fairway.cursor c, unnest(submissions, states, codes) n (id, state, code) WHERE p.id = n.id AND p.state = 'pending'
$$;
