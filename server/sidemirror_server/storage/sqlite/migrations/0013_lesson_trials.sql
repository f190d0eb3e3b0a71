-- What became of tasks that lessons were shown for or held back from (memory/trials.py).

CREATE TABLE lesson_trials (
    tenant_id   TEXT NOT NULL,
    project_id  TEXT NOT NULL,
    receipt_id  TEXT NOT NULL,
    memory_id   TEXT NOT NULL,
    version     INTEGER NOT NULL,
    arm         TEXT NOT NULL CHECK (arm IN ('shown', 'held_back')),
    fraction    REAL NOT NULL CHECK (fraction BETWEEN 0 AND 1),
    assigned_us INTEGER NOT NULL,
    succeeded   INTEGER,  -- NULL: no outcome was reported
    returned    INTEGER,  -- NULL: it is not known
    UNIQUE (tenant_id, project_id, receipt_id, memory_id)
) STRICT;

-- A lesson's trials, as they are counted.
CREATE INDEX lesson_trials_of_lesson
ON lesson_trials (tenant_id, project_id, memory_id, fraction, arm, version, succeeded, returned);

-- The envelope: what to forget. Looks across scopes and holds times only.
CREATE INDEX lesson_trials_oldest ON lesson_trials (assigned_us);
