-- What waits is counted without what has ended, and dead jobs and remembered deletions are forgotten when they are old
-- (work/queue.py, goals/store.py).

CREATE INDEX jobs_waiting ON jobs (tenant_id, project_id, kind, due_us) WHERE due_us IS NOT NULL;
-- An envelope, across scopes.
CREATE INDEX jobs_dead ON jobs (updated_us, kind) WHERE state = 'dead';
CREATE INDEX goal_deletions_old ON goal_deletions (tenant_id, project_id, deleted_us);
