-- A database that was restored, copied or failed over (DR10): that this is noticed, and until when grants are on hold.
SELECT fill_pool(1);
CREATE VIEW same AS SELECT fairway.same_database(c.tableoid, c.system_identifier, c.timeline, c.home) FROM fairway.cursor c;
CREATE VIEW hold AS SELECT held_until - close_time AS seconds, hold_reason, held_since - sequence AS since FROM fairway.cursor;
CREATE FUNCTION adopt(seconds bigint, synchronous boolean DEFAULT false) RETURNS bigint LANGUAGE sql AS $$ -- NULL: it is the same database
    SELECT a.held_until - c.close_time FROM fairway.cursor c, fairway.adopt_database(seconds, synchronous) a
$$;
-- The clock is slow: holds count from the last ledger.
UPDATE fairway.cursor SET close_time = close_time + 1000;

-- DR10: another timeline, another cluster and another place of the row are other databases
SELECT * FROM same;
BEGIN;
UPDATE fairway.cursor SET timeline = timeline + 1;
SELECT * FROM same;
ROLLBACK;
BEGIN;
UPDATE fairway.cursor SET system_identifier = system_identifier + 1;
SELECT * FROM same;
ROLLBACK;
BEGIN;
UPDATE fairway.cursor SET home = '1/1';
SELECT * FROM same;
ROLLBACK;

-- DR10: the hold counts from the last close time if the clock is slow, and the next leader does not begin it again
BEGIN;
SELECT adopt(400);
UPDATE fairway.cursor SET timeline = timeline + 1;
SELECT adopt(400);
SELECT * FROM same, hold;
SELECT adopt(500);
SELECT * FROM hold;

-- DR10: a second failover extends the hold, and does not shorten it
UPDATE fairway.cursor SET timeline = timeline + 1, close_time = close_time + 100;
SELECT adopt(400);
UPDATE fairway.cursor SET timeline = timeline + 1, hold_reason = 'the first';
SELECT adopt(300);
SELECT * FROM hold;
ROLLBACK;

-- DR10: the hold counts from the clock if ledgers are late
BEGIN;
UPDATE fairway.cursor SET close_time = close_time - 5000, timeline = timeline + 1;
SELECT held_until - extract(epoch FROM clock_timestamp()) BETWEEN 300 AND 400 AS from_now FROM fairway.adopt_database(400, false);
ROLLBACK;

-- DR10: a synchronous failover needs no hold, and keeps an earlier one
BEGIN;
UPDATE fairway.cursor SET timeline = timeline + 1;
SELECT adopt(400, synchronous => true) < 0 AS not_held;
SELECT * FROM same, hold;
SELECT fairway.hold_grants(300, 'copied') - close_time FROM fairway.cursor;
UPDATE fairway.cursor SET timeline = timeline + 1;
SELECT adopt(400, synchronous => true);
SELECT * FROM hold;
ROLLBACK;

-- DR10: a copy puts grants on hold even with synchronous failover: a promotion keeps the identifier and the home
BEGIN;
UPDATE fairway.cursor SET system_identifier = system_identifier + 1;
SELECT adopt(400, synchronous => true);
ROLLBACK;
BEGIN;
UPDATE fairway.cursor SET home = '1/1';
SELECT adopt(400, synchronous => true);
ROLLBACK;

-- DR10: a dump restored into its own cluster is another database, though it finds the identifier and the timeline of its cursor
BEGIN;
ALTER TABLE fairway.cursor RENAME TO dumped;
CREATE TABLE fairway.cursor (LIKE fairway.dumped INCLUDING ALL);
ALTER TABLE fairway.cursor OWNER TO fairway_owner;
INSERT INTO fairway.cursor SELECT * FROM fairway.dumped;
SELECT fairway.same_database(c.tableoid, c.system_identifier, c.timeline, c.home) FROM fairway.cursor c;
SELECT count(*) FROM fairway.adopt_database(400, true);
SELECT held_until - close_time AS seconds FROM fairway.cursor;
ROLLBACK;

-- DR10: while ledgers are caught up with, what was leased for so long before the last one may be forgotten
BEGIN;
UPDATE fairway.ledgers SET close_time = close_time - 5000;
UPDATE fairway.cursor SET close_time = close_time - 5000;
SELECT ledger(100) FROM generate_series(1, 9);
SELECT fairway.hold_grants(300, 'set back') IS NULL;
SELECT since FROM hold;
ROLLBACK;

-- DR10: a hold by hand never shortens an earlier one, and the reason of the longer one stays
BEGIN;
SELECT fairway.hold_grants(400, 'the volume was copied') - close_time FROM fairway.cursor;
SELECT fairway.hold_grants(300, 'again') - close_time FROM fairway.cursor;
SELECT * FROM hold;
SELECT fairway.hold_grants(500, 'for longer') - close_time FROM fairway.cursor;
SELECT * FROM hold;

-- DR10: a gap and a hold stop grants independently, and only a leader of this term stops them
SELECT fairway.stop_grants(term + 1, 'gap') FROM fairway.cursor;
SELECT grants_allowed FROM fairway.cursor;
SELECT fairway.stop_grants(term, 'gap'), fairway.stop_grants(term, 'later') FROM fairway.cursor;
SELECT grants_reason FROM fairway.cursor;
SELECT held_until AS until FROM fairway.cursor \gset
SELECT ledger(hold => :until);
SELECT grants_allowed, held_until = :until AS held FROM fairway.cursor;
SELECT fairway.stop_grants(term, 'another reason'), ledger() FROM fairway.cursor;
SELECT grants_allowed, grants_reason, held_until, hold_reason FROM fairway.cursor;
ROLLBACK;

-- DR10: a database without a ledger cannot be put on hold
BEGIN;
DELETE FROM fairway.cursor;
SELECT fairway.hold_grants(400, 'again') IS NULL AS nothing;
ROLLBACK;

-- DR10: a quarantined account that the network removed is retired
BEGIN;
SELECT fairway.quarantine_accounts(ARRAY[account(0)], 'test');
SELECT fairway.settle_accounts(ARRAY[account(0)], '{retired}', '{101}', '{1000}', '{NULL}', '{NULL}', '{NULL}', '{0}', '{NULL}', '{0}', '{NULL}', '{NULL}');
SELECT state, quarantine_reason, slot FROM fairway.channel_accounts;
ROLLBACK;
