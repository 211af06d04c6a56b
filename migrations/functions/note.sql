-- Adds an event, about these accounts unless keys is NULL: none for no accounts. why NULL or '': what the command was told (--reason). The setting
-- fairway.who is made by each session (src/db/session.c).
CREATE OR REPLACE FUNCTION fairway.note(keys text[], what text, why text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO fairway.events (who, what, why)
    SELECT coalesce(nullif(current_setting('fairway.who', true), ''), current_setting('application_name')) || ', role ' || session_user,
        CASE cardinality(keys) WHEN 1 THEN keys[1] || ' ' || note.what ELSE concat_ws(' ', cardinality(keys) || ' accounts', note.what) END,
        coalesce(nullif(note.why, ''), current_setting('fairway.why', true), '')
    WHERE keys IS NULL OR cardinality(keys) > 0;
    DELETE FROM fairway.events e WHERE e.id <= (SELECT max(n.id) FROM fairway.events n) - 10000
$$;
