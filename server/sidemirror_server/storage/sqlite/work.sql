-- The statements of storage/sqlite/work.py. Lists of kinds, states and positions are one JSON array each. A statement
-- across scopes takes one entry of `Serves`: a tenant and a project, NULL for all.

-- name: put
-- Adds a queued job. No change if the scope already has the id.
INSERT INTO jobs (tenant_id, project_id, job_id, kind, payload, state, due_us, attempts, max_attempts, run_at_us, token,
                  created_us, updated_us)
VALUES (:tenant_id, :project_id, :job_id, :kind, :payload, 'queued', :run_at_us, 0, :max_attempts, :run_at_us, 0,
        :now_us, :now_us)
ON CONFLICT (tenant_id, project_id, job_id) DO NOTHING

-- name: get
-- One job. Columns: the fields of Job, in order.
SELECT tenant_id, project_id, job_id, kind, payload, state, attempts, max_attempts, run_at_us, lease_until_us, token,
       worker, checkpoint, last_error, result, created_us, updated_us
FROM jobs
WHERE tenant_id = :tenant_id AND project_id = :project_id AND job_id = :job_id

-- name: any_due
-- One row if a claim would find a job.
SELECT 1
FROM jobs
WHERE due_us <= :now_us AND kind IN (SELECT value FROM json_each(:kinds))
      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
LIMIT 1

-- name: bury
-- Marks jobs as dead if their lease ran out during their last attempt.
UPDATE jobs
SET state = 'dead', due_us = NULL, lease_until_us = NULL, last_error = :error, updated_us = :now_us
WHERE due_us <= :now_us AND kind IN (SELECT value FROM json_each(:kinds))
      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
      AND state = 'running' AND attempts >= max_attempts

-- name: due
-- The jobs to claim as (due_us, position), the longest due first.
SELECT due_us, position
FROM jobs
WHERE due_us <= :now_us AND kind IN (SELECT value FROM json_each(:kinds))
      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
ORDER BY due_us, position
LIMIT :limit

-- name: claim
-- Leases the jobs at these positions to a worker.
UPDATE jobs
SET state = 'running', attempts = attempts + 1, token = token + 1, due_us = :lease_until_us,
    lease_until_us = :lease_until_us, worker = :worker, updated_us = :now_us
WHERE position IN (SELECT value FROM json_each(:positions))

-- name: claimed
-- The jobs at these positions, in the order of the positions, with the columns of `get`.
SELECT tenant_id, project_id, job_id, kind, payload, state, attempts, max_attempts, run_at_us, lease_until_us, token,
       worker, checkpoint, last_error, result, created_us, updated_us
FROM json_each(:positions) CROSS JOIN jobs ON jobs.position = json_each.value
ORDER BY json_each.key

-- name: extend
-- Extends the lease of the claim with this token.
UPDATE jobs
SET due_us = :lease_until_us, lease_until_us = :lease_until_us, updated_us = :now_us
WHERE tenant_id = :tenant_id AND project_id = :project_id AND job_id = :job_id AND token = :token AND state = 'running'

-- name: checkpoint
-- Stores the handler's notes, for the claim with this token.
UPDATE jobs
SET checkpoint = :notes, updated_us = :now_us
WHERE tenant_id = :tenant_id AND project_id = :project_id AND job_id = :job_id AND token = :token AND state = 'running'

-- name: finish
-- Marks a job as done, for the claim with this token.
UPDATE jobs
SET state = 'done', result = :result, due_us = NULL, lease_until_us = NULL, updated_us = :now_us
WHERE tenant_id = :tenant_id AND project_id = :project_id AND job_id = :job_id AND token = :token AND state = 'running'

-- name: fail
-- For the claim with this token: plans a retry if :retry_at_us is given and an attempt is left, else buries the job.
UPDATE jobs
SET state = iif(:retry_at_us IS NULL OR attempts >= max_attempts, 'dead', 'retrying'),
    due_us = iif(attempts >= max_attempts, NULL, :retry_at_us),
    run_at_us = iif(:retry_at_us IS NULL OR attempts >= max_attempts, run_at_us, :retry_at_us),
    lease_until_us = NULL, last_error = :error, updated_us = :now_us
WHERE tenant_id = :tenant_id AND project_id = :project_id AND job_id = :job_id AND token = :token AND state = 'running'

-- name: release
-- Returns a job to the queue without counting the attempt. The token of the claim is invalid afterwards.
UPDATE jobs
SET state = 'queued', attempts = attempts - 1, due_us = :now_us, run_at_us = :now_us, lease_until_us = NULL,
    updated_us = :now_us
WHERE tenant_id = :tenant_id AND project_id = :project_id AND job_id = :job_id AND token = :token AND state = 'running'

-- name: revive
-- Queues a dead job again, with all its attempts.
UPDATE jobs
SET state = 'queued', attempts = 0, due_us = :now_us, run_at_us = :now_us, updated_us = :now_us
WHERE tenant_id = :tenant_id AND project_id = :project_id AND job_id = :job_id AND state = 'dead'

-- name: list
-- The jobs of a kind, newest first, after a cursor. :states NULL: jobs in any state.
SELECT tenant_id, project_id, job_id, kind, payload, state, attempts, max_attempts, run_at_us, lease_until_us, token,
       worker, checkpoint, last_error, result, created_us, updated_us
FROM jobs
WHERE tenant_id = :tenant_id AND project_id = :project_id AND kind = :kind
      AND (created_us, job_id) < (:created_us, :job_id)
      AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
ORDER BY created_us DESC, job_id DESC
LIMIT :limit

-- name: count
-- The number of jobs of a kind for each state that occurs.
SELECT state, count(*)
FROM jobs
WHERE tenant_id = :tenant_id AND project_id = :project_id AND kind = :kind
GROUP BY state

-- name: waiting
-- The number of jobs of a kind that are queued, running or waiting for a retry.
SELECT count(*)
FROM jobs
WHERE tenant_id = :tenant_id AND project_id = :project_id AND kind = :kind AND due_us IS NOT NULL

-- name: purge
-- Removes jobs that have been done since before a time.
DELETE FROM jobs
WHERE position IN (
    SELECT position
    FROM jobs
    WHERE state = 'done' AND updated_us < :done_before_us AND kind IN (SELECT value FROM json_each(:kinds))
          AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
    ORDER BY updated_us
    LIMIT :limit
)

-- name: purge_dead
-- Removes jobs that have been dead since before a time.
DELETE FROM jobs
WHERE position IN (
    SELECT position
    FROM jobs
    WHERE state = 'dead' AND updated_us < :dead_before_us AND kind IN (SELECT value FROM json_each(:kinds))
          AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
    ORDER BY updated_us
    LIMIT :limit
)

-- name: scopes
-- Across scopes: the scopes that have done jobs of these kinds.
SELECT DISTINCT tenant_id, project_id
FROM jobs
WHERE state = 'done' AND kind IN (SELECT value FROM json_each(:kinds))
      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
ORDER BY tenant_id, project_id

-- name: forget
-- Removes a job that is done or dead.
DELETE FROM jobs
WHERE tenant_id = :tenant_id AND project_id = :project_id AND job_id = :job_id AND state IN ('done', 'dead')
