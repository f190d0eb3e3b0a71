-- compatible: yes
-- What is decided for tenants and projects (policy/store.py).

-- An empty project stands for the tenant.
CREATE TABLE sidemirror.policies (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    version    bigint NOT NULL,
    body       bytea NOT NULL,
    PRIMARY KEY (tenant_id, project_id)
);

-- As `protect` does it, but for the tenant's row: it is every project's.
ALTER TABLE sidemirror.policies ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY scope ON sidemirror.policies
USING (tenant_id = (SELECT sidemirror.tenant_id()) AND project_id IN ('', (SELECT sidemirror.project_id())));

-- What retention looks for across scopes, where `retains` says that a policy sets any. NULL is not set; the importance
-- is in millionths.
CREATE TABLE sidemirror.policy_envelopes (
    tenant_id         text COLLATE "C" NOT NULL,
    project_id        text COLLATE "C" NOT NULL,
    spend_days        bigint,
    critique_days     bigint,
    memory_days       bigint,
    memory_importance bigint,
    memory_count      bigint,
    trace_days        bigint,
    retains           boolean NOT NULL,
    PRIMARY KEY (tenant_id, project_id)
);
CREATE INDEX policy_envelopes_retained ON sidemirror.policy_envelopes (tenant_id, project_id) WHERE retains;
SELECT sidemirror.protect_envelopes('sidemirror.policy_envelopes');

CREATE FUNCTION sidemirror.keep_policy_envelope() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
    kept jsonb;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM sidemirror.policy_envelopes AS envelope
        WHERE (envelope.tenant_id, envelope.project_id) = (OLD.tenant_id, OLD.project_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        kept := coalesce(convert_from(NEW.body, 'UTF8')::jsonb #> '{policy,retention}', '{}');
        INSERT INTO sidemirror.policy_envelopes
        VALUES (NEW.tenant_id, NEW.project_id, (kept ->> 'spend_days')::bigint, (kept ->> 'critique_days')::bigint,
                (kept ->> 'memory_days')::bigint, round((kept ->> 'memory_importance')::numeric * 1000000)::bigint,
                (kept ->> 'memory_count')::bigint, (kept ->> 'trace_days')::bigint, kept <> '{}');
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER kept AFTER INSERT OR UPDATE OR DELETE ON sidemirror.policies
FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_policy_envelope();
