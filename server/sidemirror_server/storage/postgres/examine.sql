-- The statements of storage/postgres/examine.py beside those of admission.

-- name: server
-- Facts about the server. `most`: the connections for roles other than superusers; `taken`: those in use. `own_limit`:
-- the lower limit of the role and the database, NULL if neither has one. `pid`: the server process; it differs from the
-- connection's process behind a pooler. `vector`: the version of pgvector in this database; `vector_there`: the version
-- that can be created.
SELECT pg_catalog.current_setting('server_version') AS version,
       (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint AS now_us,
       pg_catalog.pg_is_in_recovery() OR pg_catalog.current_setting('default_transaction_read_only') = 'on' AS reads_only,
       pg_catalog.pg_backend_pid() AS pid,
       pg_catalog.current_setting('max_connections')::bigint
           - pg_catalog.current_setting('superuser_reserved_connections')::bigint AS most,
       (SELECT sum(numbackends)::bigint FROM pg_catalog.pg_stat_database) AS taken,
       (SELECT min(nullif(own_limit, -1))::bigint
        FROM (SELECT rolconnlimit FROM pg_catalog.pg_roles WHERE rolname = current_user
              UNION ALL
              SELECT datconnlimit FROM pg_catalog.pg_database
              WHERE datname = pg_catalog.current_database()) AS limits (own_limit)) AS own_limit,
       (SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector') AS vector,
       (SELECT default_version FROM pg_catalog.pg_available_extensions WHERE name = 'vector') AS vector_there,
       (SELECT count(*)
        FROM pg_catalog.pg_class AS kept
        JOIN pg_catalog.pg_namespace AS home ON home.oid = kept.relnamespace
        WHERE home.nspname = 'sidemirror' AND kept.relkind IN ('r', 'p') AND kept.relrowsecurity
              AND kept.relforcerowsecurity) AS protected

-- name: written
-- Writes some bytes to the WAL, so that a commit has to wait for the disk, and changes nothing.
SELECT pg_catalog.pg_logical_emit_message(true, 'sidemirror doctor', '')

-- name: locks
-- Locks on our tables that hold up whoever reads or writes, by the process that holds them: sidecars take none of them,
-- a migration does for a moment.
SELECT held.pid,
       coalesce(max(who.usename), 'unknown')::text AS role,
       string_agg(DISTINCT held.mode, ', ' ORDER BY held.mode) AS modes,
       string_agg(DISTINCT kept.relname::text, ', ' ORDER BY kept.relname::text) AS tables
FROM pg_catalog.pg_locks AS held
JOIN pg_catalog.pg_class AS kept ON kept.oid = held.relation
JOIN pg_catalog.pg_namespace AS home ON home.oid = kept.relnamespace
JOIN pg_catalog.pg_database AS here ON here.oid = held.database AND here.datname = pg_catalog.current_database()
LEFT JOIN pg_catalog.pg_stat_activity AS who ON who.pid = held.pid
WHERE home.nspname = 'sidemirror' AND kept.relkind IN ('r', 'p') AND held.granted
      AND held.mode IN ('AccessExclusiveLock', 'ExclusiveLock', 'ShareRowExclusiveLock', 'ShareLock')
GROUP BY held.pid
ORDER BY held.pid
