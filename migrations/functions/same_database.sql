-- Whether this is the database that the cursor row names. identity() reads a file, so its result is kept for the session (a
-- setting, which a transaction that is rolled back forgets): nothing in it can change while a session lives, except the table of
-- the cursor, which the caller reads from the row (tableoid).
CREATE OR REPLACE FUNCTION fairway.same_database(cursor_table oid, system_identifier bigint, timeline integer, home text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    named constant text := concat_ws(' ', pg_backend_pid(), cursor_table, system_identifier, timeline, home);
    this text := current_setting('fairway.identity', true);
BEGIN
    IF this IS DISTINCT FROM named THEN
        SELECT set_config('fairway.identity', concat_ws(' ', pg_backend_pid(), 'fairway.cursor'::regclass::oid,
            i.system_identifier, i.timeline, i.home), false) INTO this FROM fairway.identity() i;
    END IF;
    RETURN this = named;
END $$;
