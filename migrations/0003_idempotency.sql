-- A client's Idempotency-Key stands in the lease that it took; the lease's bytes are what a retry gets. The janitor takes the
-- key out again after its 24 hours.

ALTER TABLE fairway.leases
    ADD COLUMN sequence_ledger bigint, -- of the account when it was leased: part of the answer
    ADD CHECK (octet_length(idempotency_key) BETWEEN 1 AND 255),
    ADD CHECK (octet_length(request_digest) = 32); -- SHA-256 of the request's body

-- Makes a second lease for one key impossible by itself; serves finding the first.
CREATE UNIQUE INDEX leases_idempotency ON fairway.leases (client, idempotency_key) WHERE idempotency_key IS NOT NULL;
-- Serves the janitor.
CREATE INDEX leases_idempotency_age ON fairway.leases (granted_at) WHERE idempotency_key IS NOT NULL;
