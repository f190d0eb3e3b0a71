-- What storage/postgres/examine.py asks beside what admission does.

-- name: server
-- The server, its clock, and how many connections it has for this role: `most` for everybody but superusers, `taken` of
-- them, and the least of the role's and the database's own limits, NULL where there is none. `pid`: the process that
-- answers; another one than the connection was told of is behind a pooler. `vector` and `vector_there`: pgvector's version
-- as created in this database, and as it could be.
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
