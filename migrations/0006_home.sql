-- A dump that is restored into its own cluster finds there the identifier and timeline that its cursor names, and has forgotten
-- leases all the same. What it cannot carry are the oids of its database and of the cursor's table.

ALTER TABLE fairway.cursor ALTER system_identifier DROP DEFAULT, ALTER timeline DROP DEFAULT;
DROP FUNCTION fairway.identity();

-- pg_control_checkpoint() would name the old timeline until the first checkpoint after a promotion.
CREATE FUNCTION fairway.identity(OUT system_identifier bigint, OUT timeline integer, OUT home text) LANGUAGE sql STABLE AS $$
    SELECT s.system_identifier,
        ('x' || left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::int4,
        d.oid || '/' || 'fairway.cursor'::regclass::oid
    FROM pg_catalog.pg_control_system() s, pg_catalog.pg_database d
    WHERE d.datname = pg_catalog.current_database()
$$;

ALTER TABLE fairway.cursor
    ALTER system_identifier SET DEFAULT (fairway.identity()).system_identifier,
    ALTER timeline SET DEFAULT (fairway.identity()).timeline,
    ADD COLUMN home text NOT NULL DEFAULT (fairway.identity()).home;
