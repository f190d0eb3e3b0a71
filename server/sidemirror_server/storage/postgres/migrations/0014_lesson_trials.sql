-- compatible: yes
-- What became of tasks that lessons were shown for or held back from (memory/trials.py).

CREATE TABLE sidemirror.lesson_trials (
    tenant_id   text COLLATE "C" NOT NULL,
    project_id  text COLLATE "C" NOT NULL,
    receipt_id  text COLLATE "C" NOT NULL,
    memory_id   text COLLATE "C" NOT NULL,
    version     bigint NOT NULL,
    arm         text COLLATE "C" NOT NULL CHECK (arm IN ('shown', 'held_back')),
    fraction    double precision NOT NULL CHECK (fraction BETWEEN 0 AND 1),
    assigned_us bigint NOT NULL,
    succeeded   boolean, -- NULL: no outcome was reported
    returned    boolean, -- NULL: it is not known
    PRIMARY KEY (tenant_id, project_id, receipt_id, memory_id)
);
SELECT sidemirror.protect('sidemirror.lesson_trials');

-- A lesson's trials, as they are counted.
CREATE INDEX lesson_trials_of_lesson ON sidemirror.lesson_trials (tenant_id, project_id, memory_id, fraction, arm)
INCLUDE (version, succeeded, returned);

-- What to forget, and when.
CREATE TABLE sidemirror.lesson_trial_envelopes (
    tenant_id   text COLLATE "C" NOT NULL,
    project_id  text COLLATE "C" NOT NULL,
    receipt_id  text COLLATE "C" NOT NULL,
    memory_id   text COLLATE "C" NOT NULL,
    assigned_us bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, receipt_id, memory_id)
);
CREATE INDEX lesson_trial_envelopes_oldest ON sidemirror.lesson_trial_envelopes (assigned_us);

CREATE FUNCTION sidemirror.keep_lesson_trial_envelope() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM sidemirror.lesson_trial_envelopes AS envelope
        WHERE (envelope.tenant_id, envelope.project_id, envelope.receipt_id, envelope.memory_id)
              = (OLD.tenant_id, OLD.project_id, OLD.receipt_id, OLD.memory_id);
    ELSE
        INSERT INTO sidemirror.lesson_trial_envelopes
        VALUES (NEW.tenant_id, NEW.project_id, NEW.receipt_id, NEW.memory_id, NEW.assigned_us);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER kept AFTER INSERT OR DELETE ON sidemirror.lesson_trials
FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_lesson_trial_envelope();
