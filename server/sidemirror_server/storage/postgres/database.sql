-- The statements that admission.py runs on each new connection, and that database.py runs every minute.

-- name: role
-- The role, the forbidden rights it has, the tables without row level security, and how durable a commit is. Envelopes
-- need row level security only once `role_tenants` exists.
SELECT current_user::text AS role,
       EXISTS (SELECT FROM pg_catalog.pg_roles AS role
               WHERE role.rolsuper AND pg_catalog.pg_has_role(current_user, role.oid, 'MEMBER')) AS is_superuser,
       EXISTS (SELECT FROM pg_catalog.pg_roles AS role
               WHERE role.rolbypassrls AND pg_catalog.pg_has_role(current_user, role.oid, 'MEMBER')) AS bypasses,
       EXISTS (SELECT FROM pg_catalog.pg_class AS owned
               JOIN pg_catalog.pg_namespace AS home ON home.oid = owned.relnamespace
               WHERE home.nspname = 'sidemirror'
                     AND (pg_catalog.pg_has_role(current_user, owned.relowner, 'MEMBER')
                          OR pg_catalog.pg_has_role(current_user, home.nspowner, 'MEMBER'))) AS owns,
       EXISTS (SELECT FROM pg_catalog.pg_class AS kept
               JOIN pg_catalog.pg_namespace AS home ON home.oid = kept.relnamespace
               WHERE home.nspname = 'sidemirror' AND kept.relname = 'schema_migrations') AS is_migrated,
       EXISTS (SELECT FROM pg_catalog.pg_class AS kept
               JOIN pg_catalog.pg_namespace AS home ON home.oid = kept.relnamespace
               WHERE home.nspname = 'sidemirror' AND kept.relname = 'schema_migrations'
                     AND pg_catalog.has_schema_privilege(home.oid, 'USAGE')
                     AND pg_catalog.has_table_privilege(kept.oid, 'SELECT')) AS is_granted,
       ARRAY (SELECT bare.relname::text
              FROM pg_catalog.pg_class AS bare
              JOIN pg_catalog.pg_namespace AS home ON home.oid = bare.relnamespace
              WHERE home.nspname = 'sidemirror' AND bare.relkind IN ('r', 'p')
                    AND NOT (bare.relrowsecurity AND bare.relforcerowsecurity)
                    AND bare.relname <> 'schema_migrations'
                    AND (bare.relname NOT LIKE '%\_envelopes'
                         OR EXISTS (SELECT FROM pg_catalog.pg_class AS later
                                    WHERE later.relnamespace = home.oid AND later.relname = 'role_tenants'))
              ORDER BY 1) AS unprotected,
       pg_catalog.current_setting('synchronous_commit') AS synchronous_commit,
       pg_catalog.current_setting('fsync') AS fsync

-- name: clock
-- The database's time, in microseconds since 1970.
SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint

-- name: process
-- The process that serves this transaction.
SELECT pg_catalog.pg_backend_pid()

-- name: migrations
-- The applied migrations, in order.
SELECT number, name, checksum, compatible
FROM sidemirror.schema_migrations
ORDER BY number

-- name: reach
-- The tenants whose rows the role reaches: every tenant's (`is_operator`), those of its bindings (`own`), and those
-- whose roles it may take (`taken`). `roles` has one quoted role for each of `taken`. The role sees no other bindings.
SELECT sidemirror.is_operator() AS is_operator,
       ARRAY (SELECT DISTINCT tenant_id
              FROM sidemirror.role_tenants
              WHERE role::oid = 0 OR pg_catalog.pg_has_role(role, 'USAGE')
              ORDER BY 1) AS own,
       ARRAY (SELECT tenant_id
              FROM sidemirror.role_tenants
              WHERE tenant_id <> '*'
              GROUP BY tenant_id
              ORDER BY 1) AS taken,
       ARRAY (SELECT min(role::text)
              FROM sidemirror.role_tenants
              WHERE tenant_id <> '*'
              GROUP BY tenant_id
              ORDER BY tenant_id) AS roles
