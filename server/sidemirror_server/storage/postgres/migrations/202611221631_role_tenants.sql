-- compatible: yes
-- Tenants apart by role (docs/postgres-tenants.md): which rows a transaction reaches depends on its role, and only among
-- those on its settings. Functions that stand in policies are asked once a statement, name no operator that a search path
-- could replace, and read `role_tenants` as the caller, who sees its own rows there.

-- Which tenant's rows a role reaches; '*': every tenant's. Written by the owner alone (`sidemirror migrate --tenant`).
-- The role 0, shown as '-', is everybody: that row stands until the first binding.
CREATE TABLE sidemirror.role_tenants (
    role      regrole PRIMARY KEY,
    tenant_id text COLLATE "C" NOT NULL
);
CREATE INDEX role_tenants_of ON sidemirror.role_tenants (tenant_id, role);
INSERT INTO sidemirror.role_tenants VALUES ('-', '*');

-- Whether the current role is the schema's owner, or may act as it.
CREATE FUNCTION sidemirror.is_owner() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog
AS $$
BEGIN
    RETURN pg_has_role((SELECT kept.relowner FROM pg_catalog.pg_class AS kept
                        WHERE kept.oid = 'sidemirror.schema_migrations'::regclass), 'MEMBER');
END
$$;

-- The names of other tenants, and of their roles, are nobody's business. Forced, as servers of before want it of every
-- table that is no envelope.
ALTER TABLE sidemirror.role_tenants ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON sidemirror.role_tenants USING ((SELECT sidemirror.is_owner()));

-- Whoever may read what was applied may read this; nobody whom it binds may write it.
DO $$
DECLARE
    granted text;
BEGIN
    FOR granted IN
        SELECT DISTINCT CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END
        FROM pg_catalog.pg_class AS kept, aclexplode(kept.relacl) AS acl
        WHERE kept.oid = 'sidemirror.schema_migrations'::regclass AND acl.grantee <> kept.relowner
    LOOP
        EXECUTE format('REVOKE ALL ON sidemirror.role_tenants FROM %s', granted);
        EXECUTE format('GRANT SELECT ON sidemirror.role_tenants TO %s', granted);
    END LOOP;
END
$$;

-- Whether the current role reaches every tenant's rows.
CREATE FUNCTION sidemirror.is_operator() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog
AS $$
BEGIN
    RETURN EXISTS (SELECT FROM sidemirror.role_tenants AS bound
                   WHERE bound.tenant_id = '*' AND (bound.role::oid = 0 OR pg_has_role(bound.role, 'USAGE')));
END
$$;

-- A role sees the bindings whose rights it has (it is that role, or a member that inherits), and those that it may take by
-- SET ROLE. The tenants of all of them are those whose envelopes it reaches: so one look finds what is due for each tenant
-- of a login that serves many. What is in a tenant's rows it reads by that tenant's role. Before Postgres 16 every member
-- may take a role.
DO $$
DECLARE
    at_hand text := format(
        $at$role::oid = 0 OR pg_catalog.pg_has_role(role, 'USAGE') OR pg_catalog.pg_has_role(role, %L)$at$,
        CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END);
BEGIN
    EXECUTE format('CREATE POLICY own ON sidemirror.role_tenants FOR SELECT USING (%s)', at_hand);
    EXECUTE format(
        'CREATE FUNCTION sidemirror.tenants_at_hand() RETURNS text[] LANGUAGE plpgsql STABLE PARALLEL SAFE'
        ' SET search_path = pg_catalog'
        ' AS $body$ BEGIN RETURN ARRAY (SELECT tenant_id FROM sidemirror.role_tenants WHERE %s); END $body$', at_hand);
END
$$;

-- The tenant that the transaction has set, if the role reaches it. To set another one is an error: whoever looks must not
-- take what it may not see for nothing.
CREATE OR REPLACE FUNCTION sidemirror.tenant_id() RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog
AS $$
DECLARE
    wanted text := convert_from(decode(nullif(current_setting('sidemirror.tenant_id', true), ''), 'hex'), 'UTF8');
BEGIN
    IF wanted IS NULL OR EXISTS (SELECT FROM sidemirror.role_tenants AS bound
                                 WHERE bound.tenant_id IN (wanted, '*') AND (bound.role::oid = 0 OR pg_has_role(bound.role, 'USAGE'))) THEN
        RETURN wanted;
    END IF;
    RAISE EXCEPTION 'the role is not bound to the tenant that is set' USING ERRCODE = 'SM001';
END
$$;

CREATE OR REPLACE FUNCTION sidemirror.project_id() RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog
AS $$
BEGIN
    RETURN convert_from(decode(nullif(current_setting('sidemirror.project_id', true), ''), 'hex'), 'UTF8');
END
$$;

-- Puts a table of envelopes under row level security: by tenant, and not by scope, since it serves what looks across
-- scopes. Operators have a policy of their own, which is no condition at all. With both in one, a tenant's role could look
-- another tenant up in an index, and EXPLAIN ANALYZE would say how many rows the policy then took away.
CREATE FUNCTION sidemirror.protect_envelopes(protected regclass) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', protected);
    EXECUTE format(
        'CREATE POLICY tenant ON %s USING (tenant_id = ANY ((SELECT sidemirror.tenants_at_hand())::text[]))', protected);
    EXECUTE format('CREATE POLICY operator ON %s TO %s USING (true)', protected, sidemirror.operators());
END
$$;
REVOKE EXECUTE ON FUNCTION sidemirror.protect_envelopes(regclass) FROM PUBLIC;

-- The roles that reach every tenant, as a policy names them; the owner where there is none.
CREATE FUNCTION sidemirror.operators() RETURNS text LANGUAGE plpgsql STABLE SET search_path = pg_catalog
AS $$
BEGIN
    RETURN (SELECT coalesce(string_agg(CASE WHEN bound.role = 0 THEN 'PUBLIC' ELSE bound.role::text END, ', '), 'CURRENT_USER')
            FROM sidemirror.role_tenants AS bound
            WHERE bound.tenant_id = '*' AND (bound.role = 0 OR EXISTS (SELECT FROM pg_roles WHERE oid = bound.role)));
END
$$;
REVOKE EXECUTE ON FUNCTION sidemirror.operators() FROM PUBLIC;

-- Keeps the envelopes' policies in step with `role_tenants`.
CREATE FUNCTION sidemirror.keep_operators() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
    protected regclass;
BEGIN
    FOR protected IN
        SELECT polrelid FROM pg_policy
        WHERE polname = 'operator' AND polrelid::regclass::text LIKE 'sidemirror.%'
        ORDER BY polrelid
    LOOP
        EXECUTE format('ALTER POLICY operator ON %s TO %s', protected, sidemirror.operators());
    END LOOP;
    RETURN NULL;
END
$$;
CREATE TRIGGER kept AFTER INSERT OR UPDATE OR DELETE ON sidemirror.role_tenants
FOR EACH STATEMENT EXECUTE FUNCTION sidemirror.keep_operators();

SELECT sidemirror.protect_envelopes('sidemirror.open_turn_envelopes');
SELECT sidemirror.protect_envelopes('sidemirror.ended_turn_envelopes');
SELECT sidemirror.protect_envelopes('sidemirror.request_envelopes');
SELECT sidemirror.protect_envelopes('sidemirror.job_envelopes');
SELECT sidemirror.protect_envelopes('sidemirror.ledger_envelopes');
SELECT sidemirror.protect_envelopes('sidemirror.ledger_day_envelopes');
SELECT sidemirror.protect_envelopes('sidemirror.receipt_envelopes');
SELECT sidemirror.protect_envelopes('sidemirror.critique_envelopes');
SELECT sidemirror.protect_envelopes('sidemirror.lesson_trial_envelopes');
SELECT sidemirror.protect_envelopes('sidemirror.memory_project_envelopes');
SELECT sidemirror.protect_envelopes('sidemirror.dream_unread_envelopes');

-- What the planner knows of ids and texts it tells in its estimates, of everybody's rows: how many a tenant has, and what
-- stands in them. Called by `sidemirror migrate` where a role is bound to a tenant: from then on it knows no values of
-- them, takes all tenants to be as large, with one project each, and each id to be there once. That much it needs: where
-- it takes a scope to be small that is not, it goes through it once for each row. It may know how common our own words
-- are. Before Postgres 18 there is no such half, and statistics stay.
CREATE FUNCTION sidemirror.hide_statistics() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
    hidden record;
    tenants real := (SELECT count(DISTINCT bound.tenant_id) FROM sidemirror.role_tenants AS bound WHERE bound.tenant_id <> '*');
BEGIN
    IF current_setting('server_version_num')::integer < 180000 THEN
        RETURN;
    END IF;
    FOR hidden IN
        SELECT kept.relname::text AS relname, kept.oid::regclass AS kept, of.attname::text AS attname,
               coalesce(of.attstattarget, -1) <> 0 AS is_new, of.atttypid = 'text'::regtype AS is_text
        FROM pg_class AS kept JOIN pg_attribute AS of ON of.attrelid = kept.oid
        WHERE kept.relnamespace = 'sidemirror'::regnamespace AND kept.relkind IN ('r', 'p')
              AND kept.relname NOT IN ('schema_migrations', 'role_tenants') AND of.attnum > 0 AND NOT of.attisdropped
              AND format_type(of.atttypid, NULL) IN ('text', 'text[]', 'bytea', 'real[]')
              AND of.attname NOT IN ('kind', 'state', 'standing', 'topic', 'arm', 'layer', 'source', 'outcome', 'goal_state',
                                     'method', 'purpose')
        ORDER BY kept.oid, of.attnum
    LOOP
        IF hidden.is_new THEN
            EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', hidden.kept, hidden.attname);
            EXECUTE 'SELECT pg_clear_attribute_stats($1, $2, $3, false)' USING 'sidemirror', hidden.relname, hidden.attname;
        END IF;
        IF hidden.is_text THEN
            EXECUTE 'SELECT pg_restore_attribute_stats(''schemaname'', $1, ''relname'', $2, ''attname'', $3,'
                    ' ''inherited'', false, ''null_frac'', 0::real, ''avg_width'', 8, ''n_distinct'', $4)'
            USING 'sidemirror', hidden.relname, hidden.attname,
                  CASE hidden.attname WHEN 'tenant_id' THEN tenants WHEN 'project_id' THEN 1 ELSE -1 END::real;
        END IF;
    END LOOP;
END
$$;
REVOKE EXECUTE ON FUNCTION sidemirror.hide_statistics() FROM PUBLIC;

-- The sums over all tenants (an empty tenant) are the operator's: what a tenant's role spends is counted for that tenant
-- alone. Left out here and not refused, so that servers that do not know it go on.
CREATE FUNCTION sidemirror.leave_out_sums() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF sidemirror.is_operator() THEN
        RETURN NEW;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER left_out BEFORE INSERT ON sidemirror.ledger_envelopes
FOR EACH ROW WHEN (NEW.tenant_id = '') EXECUTE FUNCTION sidemirror.leave_out_sums();
