-- Trigger: the events of the cursor's row: pauses, holds, gaps, and who leads. With the rights of the caller, because any role may make a trigger of it.
CREATE OR REPLACE FUNCTION fairway.note_cursor() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM fairway.note(NULL, e.what, e.why) FROM (VALUES
        (NEW.paused IS NOT NULL AND NEW.paused IS DISTINCT FROM OLD.paused, 'leases are paused', NEW.paused),
        (NEW.paused IS NULL AND OLD.paused IS NOT NULL, 'leases are resumed after a pause', NULL),
        (NEW.held_until IS NOT NULL AND OLD.held_until IS NULL, 'grants are on hold', NEW.hold_reason),
        (NEW.held_until IS NULL AND OLD.held_until IS NOT NULL, 'the hold has ended', OLD.hold_reason),
        (OLD.grants_allowed AND NOT NEW.grants_allowed, 'grants are stopped', NEW.grants_reason),
        (NEW.grants_allowed AND NOT OLD.grants_allowed, 'grants are no longer stopped', OLD.grants_reason),
        (NEW.term <> OLD.term, 'begins to lead', 'term ' || NEW.term)) e (happened, what, why)
    WHERE e.happened;
    RETURN NULL;
END $$;
