-- The two roles of a fairway database. fairway_owner runs `fairway migrate` and owns the tables; fairway runs all other commands and
-- can neither change the schema nor drop a table. A superuser runs this once, in the new database, before the first migrate:
--
--   createdb fairway
--   psql -d fairway -f roles.sql
--   psql -d fairway -c '\password fairway_owner' -c '\password fairway'
--
-- All replicas use the one role fairway: a replica ends the database session of a leader that has stopped, which PostgreSQL allows
-- within one role only.

CREATE ROLE fairway_owner LOGIN;
CREATE ROLE fairway LOGIN;

-- For fairway migrate, which creates the schema fairway.
GRANT CREATE ON DATABASE :"DBNAME" TO fairway_owner;

-- Applies to everything that fairway_owner creates, also in later versions.
ALTER DEFAULT PRIVILEGES FOR ROLE fairway_owner GRANT USAGE ON SCHEMAS TO fairway;
ALTER DEFAULT PRIVILEGES FOR ROLE fairway_owner GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO fairway;
ALTER DEFAULT PRIVILEGES FOR ROLE fairway_owner GRANT EXECUTE ON FUNCTIONS TO fairway;
