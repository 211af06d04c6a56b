-- The address of an account, or NULL if its checksum is wrong: the CRC-16/XMODEM of its first 33 bytes, lower byte first (SEP-23). For what stores accounts:
-- an address that nothing decodes would fail every grant and every rotation that meets it, and no command could name it.
CREATE OR REPLACE FUNCTION fairway.valid_address(key text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    bits varbit := (SELECT string_agg((strpos('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', c) - 1)::bit(5)::text, '' ORDER BY n) FROM regexp_split_to_table(key, '') WITH ORDINALITY t (c, n));
    crc bit(16) := X'0000';
BEGIN
    FOR n IN 0..263 LOOP
        crc := (crc << 1) # CASE WHEN get_bit(crc, 0) = get_bit(bits, n) THEN X'0000' ELSE X'1021' END;
    END LOOP;
    RETURN CASE WHEN crc = substring(bits FROM 273) || substring(bits FROM 265 FOR 8) THEN key END;
END $$;
