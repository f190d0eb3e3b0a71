-- compatible: yes
-- Whose rows a transaction may see (storage/postgres/database.py says so when it begins). What was not said is NULL,
-- and no row belongs to NULL: without a scope nothing is seen and nothing is kept.
--
-- Conventions of this schema:
--   A table of payloads has row level security ENABLED and FORCED, with one policy on tenant and project.
--   A table without row level security is an envelope, is named so, and holds ids, times and marks only: it serves what
--   looks across scopes. Triggers keep it in step, so that no statement can forget to.
--   Ids are compared byte by byte, as SQLite compares them, and not by the rules of a language.

CREATE FUNCTION sidemirror.tenant_id() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog
AS $$ SELECT convert_from(decode(nullif(current_setting('sidemirror.tenant_id', true), ''), 'hex'), 'UTF8') $$;

CREATE FUNCTION sidemirror.project_id() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog
AS $$ SELECT convert_from(decode(nullif(current_setting('sidemirror.project_id', true), ''), 'hex'), 'UTF8') $$;

-- Puts a table of payloads under row level security. The functions stand in sub-selects so that they are asked once a
-- statement, not once a row.
CREATE FUNCTION sidemirror.protect(protected regclass) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', protected);
    EXECUTE format(
        'CREATE POLICY scope ON %s USING (tenant_id = (SELECT sidemirror.tenant_id())'
        ' AND project_id = (SELECT sidemirror.project_id()))', protected);
END
$$;
REVOKE EXECUTE ON FUNCTION sidemirror.protect(regclass) FROM PUBLIC;
