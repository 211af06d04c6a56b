-- psql variables: accounts; slot, whether accounts have a slot (plain_slot.pgbench)
CREATE TABLE channel_accounts (
    public_key            varchar(64) PRIMARY KEY,
    encrypted_private_key varchar(256) NOT NULL,
    created_at            timestamptz NOT NULL DEFAULT now(),
    updated_at            timestamptz NOT NULL DEFAULT now(),
    locked_at             timestamp,
    locked_until          timestamp,
    locked_tx_hash        varchar(64)
);
CREATE INDEX ON channel_accounts (locked_tx_hash);
\if :slot
ALTER TABLE channel_accounts ADD slot serial UNIQUE;
\endif
INSERT INTO channel_accounts (public_key, encrypted_private_key)
SELECT 'G' || lpad(i::text, 55, '0'), repeat('x', 120) FROM generate_series(1, :accounts) i;
ANALYZE channel_accounts;
