-- compatible: yes
-- Durable background work (work/queue.py).

CREATE TABLE sidemirror.jobs (
    position       bigint GENERATED ALWAYS AS IDENTITY, -- in the order of putting
    tenant_id      text COLLATE "C" NOT NULL,
    project_id     text COLLATE "C" NOT NULL,
    job_id         text COLLATE "C" NOT NULL,
    kind           text COLLATE "C" NOT NULL,
    state          text NOT NULL CHECK (state IN ('queued', 'running', 'retrying', 'done', 'dead')),
    due_us         bigint,              -- when a worker may claim it: its time, or its lease's end; NULL: never
    attempts       bigint NOT NULL,
    max_attempts   bigint NOT NULL,
    run_at_us      bigint NOT NULL,
    lease_until_us bigint,
    token          bigint NOT NULL,     -- rises with each claim; only the latest may write
    worker         text,
    checkpoint     bytea,
    last_error     text,
    result         bytea,
    created_us     bigint NOT NULL,
    updated_us     bigint NOT NULL,
    payload        bytea NOT NULL,
    PRIMARY KEY (tenant_id, project_id, job_id)
);
SELECT sidemirror.protect('sidemirror.jobs');

-- Lists and counts, without reading payloads.
CREATE INDEX jobs_newest ON sidemirror.jobs (tenant_id, project_id, kind, created_us, job_id) INCLUDE (state);

-- Which jobs are due, and which are done. `used_up`: the lease's end would be that of the last attempt.
CREATE TABLE sidemirror.job_envelopes (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    job_id     text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    position   bigint NOT NULL,
    due_us     bigint,
    used_up    boolean NOT NULL,
    done_us    bigint,
    PRIMARY KEY (tenant_id, project_id, job_id)
);
CREATE INDEX job_envelopes_due ON sidemirror.job_envelopes (due_us, position) WHERE due_us IS NOT NULL;
CREATE INDEX job_envelopes_done ON sidemirror.job_envelopes (done_us) WHERE done_us IS NOT NULL;

CREATE FUNCTION sidemirror.keep_job_envelope() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM sidemirror.job_envelopes AS envelope
        WHERE (envelope.tenant_id, envelope.project_id, envelope.job_id) = (OLD.tenant_id, OLD.project_id, OLD.job_id);
    ELSE
        INSERT INTO sidemirror.job_envelopes
        VALUES (NEW.tenant_id, NEW.project_id, NEW.job_id, NEW.kind, NEW.position, NEW.due_us,
                NEW.state = 'running' AND NEW.attempts >= NEW.max_attempts,
                CASE WHEN NEW.state = 'done' THEN NEW.updated_us END)
        ON CONFLICT (tenant_id, project_id, job_id)
        DO UPDATE SET due_us = excluded.due_us, used_up = excluded.used_up, done_us = excluded.done_us;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON sidemirror.jobs
FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_job_envelope();
