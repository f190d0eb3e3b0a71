-- compatible: yes
-- What waits is counted without what has ended, and dead jobs and remembered deletions are forgotten when they are old
-- (work/queue.py, goals/store.py).

CREATE INDEX jobs_waiting ON sidemirror.jobs (tenant_id, project_id, kind) WHERE due_us IS NOT NULL;
CREATE INDEX goal_deletions_old ON sidemirror.goal_deletions (tenant_id, project_id, deleted_us);

-- Since when a job is dead.
ALTER TABLE sidemirror.job_envelopes ADD COLUMN dead_us bigint;
CREATE INDEX job_envelopes_dead ON sidemirror.job_envelopes (dead_us) WHERE dead_us IS NOT NULL;

CREATE OR REPLACE FUNCTION sidemirror.keep_job_envelope() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM sidemirror.job_envelopes AS envelope
        WHERE (envelope.tenant_id, envelope.project_id, envelope.job_id) = (OLD.tenant_id, OLD.project_id, OLD.job_id);
    ELSE
        INSERT INTO sidemirror.job_envelopes
        VALUES (NEW.tenant_id, NEW.project_id, NEW.job_id, NEW.kind, NEW.position, NEW.due_us,
                NEW.state = 'running' AND NEW.attempts >= NEW.max_attempts,
                CASE WHEN NEW.state = 'done' THEN NEW.updated_us END,
                CASE WHEN NEW.state = 'dead' THEN NEW.updated_us END)
        ON CONFLICT (tenant_id, project_id, job_id)
        DO UPDATE SET due_us = excluded.due_us, used_up = excluded.used_up, done_us = excluded.done_us,
                      dead_us = excluded.dead_us;
    END IF;
    RETURN NULL;
END
$$;

-- What is dead already. Row level security holds the owner too, and is lifted for this statement; nobody else reaches the
-- table until this is committed.
ALTER TABLE sidemirror.jobs NO FORCE ROW LEVEL SECURITY;
UPDATE sidemirror.job_envelopes AS envelope
SET dead_us = job.updated_us
FROM sidemirror.jobs AS job
WHERE (envelope.tenant_id, envelope.project_id, envelope.job_id) = (job.tenant_id, job.project_id, job.job_id)
      AND job.state = 'dead';
ALTER TABLE sidemirror.jobs FORCE ROW LEVEL SECURITY;
