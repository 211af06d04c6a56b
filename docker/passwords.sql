-- For compose.yaml only: the password of each role is the SHA-256 of its name and the superuser's password. secrets.sh computes the same.
-- Knowing the password of fairway does not help to find that of fairway_owner.
\getenv superuser_password POSTGRES_PASSWORD
SELECT encode(sha256(convert_to('fairway_owner' || :'superuser_password', 'UTF8')), 'hex') AS fairway_owner,
    encode(sha256(convert_to('fairway' || :'superuser_password', 'UTF8')), 'hex') AS fairway
\gset password_
ALTER ROLE fairway_owner PASSWORD :'password_fairway_owner';
ALTER ROLE fairway PASSWORD :'password_fairway';
