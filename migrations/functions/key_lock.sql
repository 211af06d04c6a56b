-- The number of the advisory lock of a key. A grant tries it before it looks for the key, and holds it until it commits. STABLE, as
-- convert_to() is: PostgreSQL inlines it then, which costs a fifth.
CREATE OR REPLACE FUNCTION fairway.key_lock(client text, key text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT ('x' || encode(substr(sha256(convert_to('idempotency', 'UTF8') || decode('00', 'hex') || convert_to($1, 'UTF8')
        || decode('00', 'hex') || convert_to($2, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
$$;
