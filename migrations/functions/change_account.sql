-- A change, by an operator or the audit, of an account that lock_accounts() has locked. A NULL sequence or ledger stays as it is.
CREATE OR REPLACE FUNCTION fairway.change_account(key text, new_state text, new_sequence bigint, new_ledger bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE fairway.channel_accounts a SET state = new_state, quarantine_reason = NULL,
        slot = CASE new_state WHEN 'retired' THEN NULL ELSE a.slot END, sequence = coalesce(new_sequence, a.sequence),
        sequence_ledger = coalesce(new_ledger, a.sequence_ledger)
    WHERE a.public_key = key;
    SELECT fairway.note(ARRAY[key], CASE new_state WHEN 'active' THEN 'released' ELSE new_state END, NULL)
$$;
