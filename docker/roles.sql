-- The two roles of a fairway database. fairway_owner runs `fairway migrate` and owns the tables; fairway runs all other commands: it may read
-- tables and call fairway's functions, nothing else. A superuser runs this once in each new database, before the first migrate:
--
--   createdb fairway
--   FAIRWAY_OWNER_PASSWORD=... FAIRWAY_PASSWORD=... psql -v ON_ERROR_STOP=1 -d fairway -f roles.sql
--
-- Without the two variables the passwords stay as they are: set them by \password. Roles that exist already, for another database of the same
-- server, are used. psql 15 or later reads the variables.
--
-- All replicas use the one role fairway: a replica ends the database session of a leader that has stopped, which PostgreSQL allows within
-- one role only.

SELECT format('CREATE ROLE %I LOGIN', n) FROM unnest(ARRAY['fairway_owner', 'fairway']) n
WHERE NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = n) \gexec

\getenv owner_password FAIRWAY_OWNER_PASSWORD
\if :{?owner_password}
ALTER ROLE fairway_owner PASSWORD :'owner_password';
\endif
\getenv password FAIRWAY_PASSWORD
\if :{?password}
ALTER ROLE fairway PASSWORD :'password';
\endif

-- For fairway migrate, which creates the schema fairway.
GRANT CREATE ON DATABASE :"DBNAME" TO fairway_owner;

-- Applies to everything that fairway_owner creates, also in later versions. migrate revokes EXECUTE from PUBLIC.
ALTER DEFAULT PRIVILEGES FOR ROLE fairway_owner GRANT USAGE ON SCHEMAS TO fairway;
ALTER DEFAULT PRIVILEGES FOR ROLE fairway_owner GRANT SELECT ON TABLES TO fairway;
ALTER DEFAULT PRIVILEGES FOR ROLE fairway_owner GRANT EXECUTE ON FUNCTIONS TO fairway;
