-- What changed the state of the service, for people; no decision reads it. fairway.note() writes it and keeps the last 10,000 rows.

CREATE TABLE fairway.events (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    happened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    who         text NOT NULL, -- the user, host and command that run the process, and its role
    what        text NOT NULL,
    why         text NOT NULL
);

CREATE TRIGGER cursor_changes AFTER UPDATE ON fairway.cursor FOR EACH ROW
    WHEN ((OLD.term, OLD.grants_allowed, OLD.held_until IS NULL, OLD.paused) IS DISTINCT FROM
        (NEW.term, NEW.grants_allowed, NEW.held_until IS NULL, NEW.paused))
    EXECUTE FUNCTION fairway.note_cursor();
