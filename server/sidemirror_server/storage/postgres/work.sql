-- The statements of storage/postgres/work.py. $1 and $2 are the tenant and the project, except where a statement looks
-- across scopes: then it reads envelopes only, of one entry of what is served (a tenant and a project, each or both NULL
-- for all; the last two values). What is NULL or not is known when a statement is planned, so each form has its index.
--
-- Whoever changes a job has its row first and its envelope after it, by the trigger. A claim goes the other way round,
-- and therefore never waits: what somebody else has in hand it leaves alone.

-- name: put
-- A new job, queued; nothing when the scope has the id already.
INSERT INTO sidemirror.jobs (tenant_id, project_id, job_id, kind, payload, state, due_us, attempts, max_attempts,
                             run_at_us, token, created_us, updated_us)
VALUES ($1, $2, $3, $4, $5, 'queued', $7, 0, $6, $7, 0, $8, $8)
ON CONFLICT (tenant_id, project_id, job_id) DO NOTHING

-- name: get
-- One job, in the order of the fields of Job.
SELECT tenant_id, project_id, job_id, kind, payload, state, attempts, max_attempts, run_at_us, lease_until_us, token,
       worker, checkpoint, last_error, result, created_us, updated_us
FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3

-- name: any_due
-- Across scopes: one row when one of these tenants ($3) may have something to claim. Asked first: a worker with nothing
-- to do asks nothing else, however many entries it serves. The order leads along the tenant's own index.
SELECT 1
FROM unnest($3::text[]) AS served (tenant_id)
CROSS JOIN LATERAL (SELECT
                    FROM sidemirror.job_envelopes AS envelope
                    WHERE envelope.tenant_id = served.tenant_id AND due_us <= $1 AND kind = ANY ($2::text[])
                    ORDER BY due_us, position
                    LIMIT 1) AS first
LIMIT 1

-- name: used_up
-- Across scopes: jobs whose worker vanished with their last attempt.
SELECT tenant_id, project_id, job_id
FROM sidemirror.job_envelopes
WHERE due_us <= $1 AND kind = ANY ($2::text[]) AND used_up
      AND ($3::text IS NULL OR tenant_id = $3) AND ($4::text IS NULL OR project_id = $4)
FOR UPDATE SKIP LOCKED

-- name: bury
-- Makes those of these jobs dead that have used their attempts up.
UPDATE sidemirror.jobs
SET state = 'dead', due_us = NULL, lease_until_us = NULL, last_error = $5, updated_us = $4
WHERE tenant_id = $1 AND project_id = $2
      AND job_id IN (SELECT job_id
                     FROM sidemirror.jobs
                     WHERE tenant_id = $1 AND project_id = $2 AND job_id = ANY ($3::text[]) AND due_us <= $4
                           AND state = 'running' AND attempts >= max_attempts
                     FOR UPDATE SKIP LOCKED)

-- name: due
-- Across scopes: jobs to claim, the longest due first.
SELECT tenant_id, project_id, job_id, due_us, position
FROM sidemirror.job_envelopes
WHERE due_us <= $1 AND kind = ANY ($2::text[]) AND NOT used_up
      AND ($4::text IS NULL OR tenant_id = $4) AND ($5::text IS NULL OR project_id = $5)
ORDER BY due_us, position
LIMIT $3
FOR UPDATE SKIP LOCKED

-- name: claim
-- Hands those of these jobs that are due ($4) to a worker ($6) until $5, as `get` shows them.
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
-- A later end of the lease, for the claim with this token.
UPDATE sidemirror.jobs
SET due_us = $6, lease_until_us = $6, updated_us = $5
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND token = $4 AND state = 'running'

-- name: checkpoint
-- The handler's notes, for the claim with this token.
UPDATE sidemirror.jobs
SET checkpoint = $6, updated_us = $5
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND token = $4 AND state = 'running'

-- name: finish
-- Done, for the claim with this token.
UPDATE sidemirror.jobs
SET state = 'done', result = $6, due_us = NULL, lease_until_us = NULL, updated_us = $5
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND token = $4 AND state = 'running'

-- name: fail
-- Waits for another attempt when there is a time ($7) and one is left, else dead; for the claim with this token.
UPDATE sidemirror.jobs
SET state = CASE WHEN $7::bigint IS NULL OR attempts >= max_attempts THEN 'dead' ELSE 'retrying' END,
    due_us = CASE WHEN attempts >= max_attempts THEN NULL ELSE $7 END,
    run_at_us = CASE WHEN $7 IS NULL OR attempts >= max_attempts THEN run_at_us ELSE $7 END,
    lease_until_us = NULL, last_error = $6, updated_us = $5
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND token = $4 AND state = 'running'

-- name: release
-- Back to the queue as if not attempted, for the claim with this token, which is worth nothing afterwards.
UPDATE sidemirror.jobs
SET state = 'queued', attempts = attempts - 1, due_us = $5, run_at_us = $5, lease_until_us = NULL, updated_us = $5
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND token = $4 AND state = 'running'

-- name: revive
-- A dead job queued again, with all its attempts.
UPDATE sidemirror.jobs
SET state = 'queued', attempts = 0, due_us = $4, run_at_us = $4, updated_us = $4
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND state = 'dead'

-- name: list
-- Jobs of a kind, newest first, from below a place in that order, and none after those whose payloads add up to $8
-- bytes; states NULL: any.
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
-- How many jobs of a kind are in each state that occurs.
SELECT state, count(*)
FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND kind = $3
GROUP BY state

-- name: waiting
-- How many jobs of a kind wait or run: those that a worker may claim at some time.
SELECT count(*)
FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND kind = $3 AND due_us IS NOT NULL

-- name: done
-- Across scopes: jobs that are done since before a time.
SELECT tenant_id, project_id, job_id
FROM sidemirror.job_envelopes
WHERE done_us < $1 AND kind = ANY ($2::text[])
      AND ($4::text IS NULL OR tenant_id = $4) AND ($5::text IS NULL OR project_id = $5)
ORDER BY done_us
LIMIT $3
FOR UPDATE SKIP LOCKED

-- name: purge
-- Removes those of these jobs that are done since before a time.
DELETE FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND job_id = ANY ($3::text[]) AND state = 'done' AND updated_us < $4

-- name: dead
-- Across scopes: jobs that are dead since before a time.
SELECT tenant_id, project_id, job_id
FROM sidemirror.job_envelopes
WHERE dead_us < $1 AND kind = ANY ($2::text[])
      AND ($4::text IS NULL OR tenant_id = $4) AND ($5::text IS NULL OR project_id = $5)
ORDER BY dead_us
LIMIT $3
FOR UPDATE SKIP LOCKED

-- name: purge_dead
-- Removes those of these jobs that are dead since before a time.
DELETE FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND job_id = ANY ($3::text[]) AND state = 'dead' AND updated_us < $4

-- name: scopes
-- Across scopes: those that have jobs of these kinds that are done.
SELECT DISTINCT tenant_id, project_id
FROM sidemirror.job_envelopes
WHERE done_us IS NOT NULL AND kind = ANY ($1::text[])
      AND ($2::text IS NULL OR tenant_id = $2) AND ($3::text IS NULL OR project_id = $3)
ORDER BY tenant_id, project_id

-- name: forget
-- Removes a job that is done or dead.
DELETE FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND state IN ('done', 'dead')
