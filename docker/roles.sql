-- The two roles of a fairway database. fairway_owner runs `fairway migrate` and owns the tables; fairway runs all other commands: it may read
-- tables and call fairway's functions, nothing else. A superuser, or the database's owner with CREATEROLE, as managed PostgreSQL gives, runs this in
-- each new database before the first migrate, and again when this file has changed:
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

-- A role that makes objects can have others run its code: the casts, operators and triggers of its tables. Before PostgreSQL 15 every role may do so.
REVOKE TEMPORARY ON DATABASE :"DBNAME" FROM PUBLIC;
SELECT 'REVOKE CREATE ON SCHEMA public FROM PUBLIC' FROM pg_namespace n
WHERE n.nspname = 'public' AND has_schema_privilege('public', n.oid, 'CREATE') \gexec

-- Whoever is no superuser changes the default privileges of its own roles only.
SELECT 'GRANT fairway_owner TO CURRENT_USER' WHERE NOT pg_has_role('fairway_owner', 'USAGE') \gexec

-- Applies to everything that fairway_owner creates, also in later versions. migrate revokes EXECUTE from PUBLIC.
ALTER DEFAULT PRIVILEGES FOR ROLE fairway_owner GRANT USAGE ON SCHEMAS TO fairway;
ALTER DEFAULT PRIVILEGES FOR ROLE fairway_owner GRANT SELECT ON TABLES TO fairway;
ALTER DEFAULT PRIVILEGES FOR ROLE fairway_owner GRANT EXECUTE ON FUNCTIONS TO fairway;
