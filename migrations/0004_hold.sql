-- A database that was restored from a backup, or a standby that was promoted while it lagged, has forgotten leases that may
-- still be live. It can tell: another cluster has another identifier, and recovery that ends opens a new timeline. A copied
-- volume leaves no trace: for that there is `fairway hold`.

-- pg_control_checkpoint() would name the old timeline until the first checkpoint after a promotion.
CREATE FUNCTION fairway.identity(OUT system_identifier bigint, OUT timeline integer) LANGUAGE sql STABLE AS $$
    SELECT s.system_identifier,
        ('x' || left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::int4
    FROM pg_catalog.pg_control_system() s
$$;

ALTER TABLE fairway.cursor
    -- of the database in which this row was last trusted; a grant elsewhere is refused
    ADD COLUMN system_identifier bigint NOT NULL DEFAULT (fairway.identity()).system_identifier,
    ADD COLUMN timeline integer NOT NULL DEFAULT (fairway.identity()).timeline,
    -- No lease is granted until a ledger has closed after this (Unix seconds): then every forgotten lease is dead.
    ADD COLUMN held_until bigint,
    ADD COLUMN hold_reason text,
    ADD CHECK ((held_until IS NULL) = (hold_reason IS NULL));
