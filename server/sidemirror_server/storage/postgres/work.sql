-- The statements of storage/postgres/work.py. $1 and $2 are the tenant and the project. A statement across scopes reads
-- envelopes only. Its last two values are one entry of `Serves`: a tenant and a project, NULL for all. The planner sees
-- which values are NULL, so it uses the right index for each case.
--
-- A change of a job locks the job's row, and then its envelope by the trigger. A claim locks them in the opposite
-- order, so it never waits: it skips locked rows.

-- name: put
-- Adds a queued job. No change if the scope already has the id.
INSERT INTO sidemirror.jobs (tenant_id, project_id, job_id, kind, payload, state, due_us, attempts, max_attempts,
                             run_at_us, token, created_us, updated_us)
VALUES ($1, $2, $3, $4, $5, 'queued', $7, 0, $6, $7, 0, $8, $8)
ON CONFLICT (tenant_id, project_id, job_id) DO NOTHING

-- name: get
-- One job. Columns: the fields of Job, in order.
SELECT tenant_id, project_id, job_id, kind, payload, state, attempts, max_attempts, run_at_us, lease_until_us, token,
       worker, checkpoint, last_error, result, created_us, updated_us
FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3

-- name: any_due
-- Across scopes: one row if one of these tenants ($3) may have a job to claim. The worker runs this first, so an idle
-- worker runs one statement however many entries it serves. The ORDER BY selects the index that begins with the tenant.
SELECT 1
FROM unnest($3::text[]) AS served (tenant_id)
CROSS JOIN LATERAL (SELECT
                    FROM sidemirror.job_envelopes AS envelope
                    WHERE envelope.tenant_id = served.tenant_id AND due_us <= $1 AND kind = ANY ($2::text[])
                    ORDER BY due_us, position
                    LIMIT 1) AS first
LIMIT 1

-- name: used_up
-- Across scopes: jobs whose lease ran out during their last attempt.
SELECT tenant_id, project_id, job_id
FROM sidemirror.job_envelopes
WHERE due_us <= $1 AND kind = ANY ($2::text[]) AND used_up
      AND ($3::text IS NULL OR tenant_id = $3) AND ($4::text IS NULL OR project_id = $4)
FOR UPDATE SKIP LOCKED

-- name: bury
-- Marks the given jobs as dead if their lease ran out during their last attempt.
UPDATE sidemirror.jobs
SET state = 'dead', due_us = NULL, lease_until_us = NULL, last_error = $5, updated_us = $4
WHERE tenant_id = $1 AND project_id = $2
      AND job_id IN (SELECT job_id
                     FROM sidemirror.jobs
                     WHERE tenant_id = $1 AND project_id = $2 AND job_id = ANY ($3::text[]) AND due_us <= $4
                           AND state = 'running' AND attempts >= max_attempts
                     FOR UPDATE SKIP LOCKED)

-- name: due
-- Across scopes: the jobs to claim, the longest due first.
SELECT tenant_id, project_id, job_id, due_us, position
FROM sidemirror.job_envelopes
WHERE due_us <= $1 AND kind = ANY ($2::text[]) AND NOT used_up
      AND ($4::text IS NULL OR tenant_id = $4) AND ($5::text IS NULL OR project_id = $5)
ORDER BY due_us, position
LIMIT $3
FOR UPDATE SKIP LOCKED

-- name: claim
-- Leases the given jobs that are due at $4 to worker $6 until $5. Returns the columns of `get`.
UPDATE sidemirror.jobs
SET state = 'running', attempts = attempts + 1, token = token + 1, due_us = $5, lease_until_us = $5, worker = $6,
    updated_us = $4
WHERE tenant_id = $1 AND project_id = $2
      AND job_id IN (SELECT job_id
                     FROM sidemirror.jobs
                     WHERE tenant_id = $1 AND project_id = $2 AND job_id = ANY ($3::text[]) AND due_us <= $4
                           AND NOT (state = 'running' AND attempts >= max_attempts)
                     FOR UPDATE SKIP LOCKED)
RETURNING tenant_id, project_id, job_id, kind, payload, state, attempts, max_attempts, run_at_us, lease_until_us, token,
          worker, checkpoint, last_error, result, created_us, updated_us

-- name: extend
-- Extends the lease of the claim with this token.
UPDATE sidemirror.jobs
SET due_us = $6, lease_until_us = $6, updated_us = $5
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND token = $4 AND state = 'running'

-- name: checkpoint
-- Stores the handler's notes, for the claim with this token.
UPDATE sidemirror.jobs
SET checkpoint = $6, updated_us = $5
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND token = $4 AND state = 'running'

-- name: finish
-- Marks a job as done, for the claim with this token.
UPDATE sidemirror.jobs
SET state = 'done', result = $6, due_us = NULL, lease_until_us = NULL, updated_us = $5
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND token = $4 AND state = 'running'

-- name: fail
-- For the claim with this token: plans a retry if a time ($7) is given and an attempt is left, else buries the job.
UPDATE sidemirror.jobs
SET state = CASE WHEN $7::bigint IS NULL OR attempts >= max_attempts THEN 'dead' ELSE 'retrying' END,
    due_us = CASE WHEN attempts >= max_attempts THEN NULL ELSE $7 END,
    run_at_us = CASE WHEN $7 IS NULL OR attempts >= max_attempts THEN run_at_us ELSE $7 END,
    lease_until_us = NULL, last_error = $6, updated_us = $5
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND token = $4 AND state = 'running'

-- name: release
-- Returns a job to the queue without counting the attempt. The token of the claim is invalid afterwards.
UPDATE sidemirror.jobs
SET state = 'queued', attempts = attempts - 1, due_us = $5, run_at_us = $5, lease_until_us = NULL, updated_us = $5
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND token = $4 AND state = 'running'

-- name: revive
-- Queues a dead job again, with all its attempts.
UPDATE sidemirror.jobs
SET state = 'queued', attempts = 0, due_us = $4, run_at_us = $4, updated_us = $4
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND state = 'dead'

-- name: list
-- The jobs of a kind, newest first, after a cursor. The page ends once its payloads add up to $8 bytes. States NULL:
-- jobs in any state.
SELECT tenant_id, project_id, job_id, kind, payload, state, attempts, max_attempts, run_at_us, lease_until_us, token,
       worker, checkpoint, last_error, result, created_us, updated_us
FROM (SELECT *, sum(octet_length(payload)) OVER (ORDER BY created_us DESC, job_id DESC) - octet_length(payload)
                AS bytes_before
      FROM (SELECT *
            FROM sidemirror.jobs
            WHERE tenant_id = $1 AND project_id = $2 AND kind = $3 AND (created_us, job_id) < ($4, $5)
                  AND ($6::text[] IS NULL OR state = ANY ($6))
            ORDER BY created_us DESC, job_id DESC
            LIMIT $7) AS page) AS measured
WHERE bytes_before < $8
ORDER BY created_us DESC, job_id DESC

-- name: count
-- The number of jobs of a kind for each state that occurs.
SELECT state, count(*)
FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND kind = $3
GROUP BY state

-- name: waiting
-- The number of jobs of a kind that are queued, running or waiting for a retry.
SELECT count(*)
FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND kind = $3 AND due_us IS NOT NULL

-- name: done
-- Across scopes: jobs that have been done since before a time.
SELECT tenant_id, project_id, job_id
FROM sidemirror.job_envelopes
WHERE done_us < $1 AND kind = ANY ($2::text[])
      AND ($4::text IS NULL OR tenant_id = $4) AND ($5::text IS NULL OR project_id = $5)
ORDER BY done_us
LIMIT $3
FOR UPDATE SKIP LOCKED

-- name: purge
-- Removes the given jobs that have been done since before a time.
DELETE FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND job_id = ANY ($3::text[]) AND state = 'done' AND updated_us < $4

-- name: dead
-- Across scopes: jobs that have been dead since before a time.
SELECT tenant_id, project_id, job_id
FROM sidemirror.job_envelopes
WHERE dead_us < $1 AND kind = ANY ($2::text[])
      AND ($4::text IS NULL OR tenant_id = $4) AND ($5::text IS NULL OR project_id = $5)
ORDER BY dead_us
LIMIT $3
FOR UPDATE SKIP LOCKED

-- name: purge_dead
-- Removes the given jobs that have been dead since before a time.
DELETE FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND job_id = ANY ($3::text[]) AND state = 'dead' AND updated_us < $4

-- name: scopes
-- Across scopes: the scopes that have done jobs of these kinds.
SELECT DISTINCT tenant_id, project_id
FROM sidemirror.job_envelopes
WHERE done_us IS NOT NULL AND kind = ANY ($1::text[])
      AND ($2::text IS NULL OR tenant_id = $2) AND ($3::text IS NULL OR project_id = $3)
ORDER BY tenant_id, project_id

-- name: forget
-- Removes a job that is done or dead.
DELETE FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND state IN ('done', 'dead')
