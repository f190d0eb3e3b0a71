-- compatible: no
-- Appends of a scope run side by side, and watches stay below those that run (docs/decisions/072-wide-appends.md).
--
-- An append takes the shared advisory lock (scope_key, base), where `base` is the last position that was given when it
-- began, before it takes positions of its own. Transactions let go of their locks once they are visible. So whoever
-- reads the last position first, the locks next, and the rows last sees every entry up to the lowest base.

-- What the server was when positions were last given: of the first start after a restore, or of another server that took
-- over, positions go on at the next multiple of 2^32. So no position is given again, also where some were lost, and a
-- cursor shows what was appended since. It is a sequence, because those need no row and no policy.
CREATE SEQUENCE sidemirror.log_epoch;

CREATE FUNCTION sidemirror.begin_epoch() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
AS $$
DECLARE
    positions constant regclass := 'sidemirror.log_entries_position_seq';
    -- A restore from a dump gives the table or its database another number, and one from files starts a server.
    present constant bigint := 1 + (hashtextextended(concat_ws('/',
        (SELECT oid FROM pg_database WHERE datname = current_database()), 'sidemirror.log_entries'::regclass::oid,
        extract(epoch FROM pg_postmaster_start_time())), 0) & 4611686018427387903);
    known bigint := pg_sequence_last_value('sidemirror.log_epoch');
BEGIN
    IF known IS NOT DISTINCT FROM present THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(6002118473093);  -- any number that nothing else uses
    known := pg_sequence_last_value('sidemirror.log_epoch');
    IF known <> present AND pg_sequence_last_value(positions) IS NOT NULL THEN
        PERFORM setval(positions, ((pg_sequence_last_value(positions) >> 32) + 1) << 32);
    END IF;
    PERFORM setval('sidemirror.log_epoch', present);
END
$$;

-- Begins an append to the scope of this key.
CREATE FUNCTION sidemirror.appending(scope_key integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog
AS $$
BEGIN
    PERFORM sidemirror.begin_epoch();
    PERFORM pg_advisory_xact_lock_shared(
        scope_key, coalesce(pg_sequence_last_value('sidemirror.log_entries_position_seq'), 0)::bit(32)::integer);
END
$$;

-- Tells the transaction the last position that was given, and how far a scope's log is settled: each of its entries up to
-- there is visible to the statements that follow, or will never be. A lock holds the lower half of a base, which is close
-- to the last one.
CREATE FUNCTION sidemirror.settle(scope_key integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog
AS $$
DECLARE
    last constant bigint := coalesce(pg_sequence_last_value('sidemirror.log_entries_position_seq'), 0);
    behind constant bigint := least(0, (
        SELECT min(((held.objid::bigint - last + 2147483648) & 4294967295) - 2147483648)
        FROM pg_locks AS held
        WHERE held.locktype = 'advisory' AND held.objsubid = 2 AND held.granted
              AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
              AND held.classid = (scope_key::bigint & 4294967295)::oid));
BEGIN
    PERFORM set_config('sidemirror.last', last::text, true),
            set_config('sidemirror.settled', (last + behind)::text, true);
END
$$;

-- Servers of before take the end of the log for settled: beside these appends their watches would leave entries out, and
-- nobody would know. Each connection is refused when it is made, and one that is open by this. It tells them that the
-- server shuts down: so they keep what is not stored, connect anew, and say what is wrong.
CREATE FUNCTION sidemirror.knows_settled() RETURNS boolean LANGUAGE plpgsql STABLE SET search_path = pg_catalog
AS $$
BEGIN
    IF current_setting('application_name') ~ '^sidemirror( - .*)?$' THEN
        RAISE EXCEPTION 'this server is older than the schema' USING ERRCODE = 'admin_shutdown';
    END IF;
    RETURN true;
END
$$;
CREATE POLICY later_servers ON sidemirror.log_entries AS RESTRICTIVE USING ((SELECT sidemirror.knows_settled()));
