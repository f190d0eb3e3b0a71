-- compatible: yes
-- Answers by request_id (trace/requests.py).

CREATE TABLE sidemirror.requests (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    method     text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    expires_us bigint NOT NULL,
    digest     bytea NOT NULL,
    answer     bytea NOT NULL,
    PRIMARY KEY (tenant_id, project_id, method, request_id)
);
SELECT sidemirror.protect('sidemirror.requests');

-- What to forget, and when.
CREATE TABLE sidemirror.request_envelopes (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    method     text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    expires_us bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, method, request_id)
);
CREATE INDEX request_envelopes_expire ON sidemirror.request_envelopes (expires_us);

CREATE FUNCTION sidemirror.keep_request_envelope() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM sidemirror.request_envelopes AS envelope
        WHERE (envelope.tenant_id, envelope.project_id, envelope.method, envelope.request_id)
              = (OLD.tenant_id, OLD.project_id, OLD.method, OLD.request_id);
    ELSE
        INSERT INTO sidemirror.request_envelopes
        VALUES (NEW.tenant_id, NEW.project_id, NEW.method, NEW.request_id, NEW.expires_us)
        ON CONFLICT (tenant_id, project_id, method, request_id) DO UPDATE SET expires_us = excluded.expires_us;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON sidemirror.requests
FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_request_envelope();
