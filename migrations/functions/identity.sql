-- pg_control_checkpoint() would name the old timeline until the first checkpoint after a promotion.
CREATE OR REPLACE FUNCTION fairway.identity(OUT system_identifier bigint, OUT timeline integer, OUT home text) LANGUAGE sql STABLE AS $$
    SELECT s.system_identifier,
        ('x' || left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::int4,
        d.oid || '/' || 'fairway.cursor'::regclass::oid
    FROM pg_catalog.pg_control_system() s, pg_catalog.pg_database d
    WHERE d.datname = pg_catalog.current_database()
$$;
