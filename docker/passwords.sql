-- For compose.yaml only: both roles get the superuser's password.
\getenv password POSTGRES_PASSWORD
ALTER ROLE fairway_owner PASSWORD :'password';
ALTER ROLE fairway PASSWORD :'password';
