-- A database in which no version before 0010 has worked has no leases from before it. The look-ups then need not read those tables, which
-- costs each grant a tenth.
DO $$
BEGIN
    IF to_regclass('fairway.leases_before_0010') IS NULL THEN
        RETURN; -- housekeeping has dropped them
    END IF;
    -- Transactions lock the cursor before anything else: see 0010.
    LOCK TABLE fairway.cursor IN ACCESS EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT FROM fairway.leases_before_0010) AND NOT EXISTS (SELECT FROM fairway.fee_bumps_before_0010) THEN
        PERFORM fairway.forget_before_0010();
    END IF;
END $$;
