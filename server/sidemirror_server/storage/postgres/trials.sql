-- The statements of storage/postgres/trials.py. $1 and $2 are the tenant and the project, $3 usually the receipt.

-- name: assign
-- Adds trials ($4 to $7: lessons, versions, arms, fractions) at $8. A lesson that already has a trial of the receipt is
-- skipped.
INSERT INTO sidemirror.lesson_trials (tenant_id, project_id, receipt_id, memory_id, version, arm, fraction, assigned_us)
SELECT $1, $2, $3, trial.memory_id, trial.version, trial.arm, trial.fraction, $8
FROM unnest($4::text[], $5::bigint[], $6::text[], $7::double precision[]) AS trial (memory_id, version, arm, fraction)
ORDER BY trial.memory_id COLLATE "C"
ON CONFLICT (tenant_id, project_id, receipt_id, memory_id) DO NOTHING

-- name: of_receipt
-- The trials of a receipt. Columns: the fields of Trial, in order.
SELECT memory_id, version, arm, fraction
FROM sidemirror.lesson_trials
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = $3
ORDER BY memory_id

-- name: results
-- The trials of receipts ($3): the receipt, then the fields of Trial and of TrialResult.
SELECT receipt_id, memory_id, version, arm, fraction, succeeded, returned
FROM sidemirror.lesson_trials
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = ANY ($3::text[])
ORDER BY receipt_id, memory_id

-- name: settle
-- Records the results of trials, in place of earlier results. $9: whether each succeeded; $10: whether its error
-- returned. Adds trials that are missing. All transactions lock the rows in the same order to avoid deadlocks.
INSERT INTO sidemirror.lesson_trials (tenant_id, project_id, receipt_id, memory_id, version, arm, fraction, assigned_us,
                                      succeeded, returned)
SELECT $1, $2, $3, trial.memory_id, trial.version, trial.arm, trial.fraction, $8, trial.succeeded, trial.returned
FROM unnest($4::text[], $5::bigint[], $6::text[], $7::double precision[], $9::boolean[], $10::boolean[])
    AS trial (memory_id, version, arm, fraction, succeeded, returned)
ORDER BY trial.memory_id COLLATE "C"
ON CONFLICT (tenant_id, project_id, receipt_id, memory_id)
DO UPDATE SET succeeded = excluded.succeeded, returned = excluded.returned

-- name: tallies
-- Counts of the trials of lessons ($3), each from a version on ($4): the lesson, then the fields of ArmTally.
SELECT asked.memory_id, counted.*
FROM unnest($3::text[], $4::bigint[]) AS asked (memory_id, from_version)
CROSS JOIN LATERAL (
    SELECT trial.arm, trial.fraction, count(*), count(*) FILTER (WHERE trial.succeeded),
           count(*) FILTER (WHERE NOT trial.succeeded), count(*) FILTER (WHERE trial.returned),
           count(*) FILTER (WHERE NOT trial.returned)
    FROM sidemirror.lesson_trials AS trial
    WHERE trial.tenant_id = $1 AND trial.project_id = $2 AND trial.memory_id = asked.memory_id
          AND trial.version >= asked.from_version
    GROUP BY trial.fraction, trial.arm
    ORDER BY trial.fraction, trial.arm
) AS counted

-- name: lessons
-- At most $4 lessons with trials, in descending order from below $3 (NULL: from the last). The query steps from lesson
-- to lesson by the index.
WITH RECURSIVE lesson (memory_id) AS (
    (SELECT memory_id
     FROM sidemirror.lesson_trials
     WHERE tenant_id = $1 AND project_id = $2 AND ($3::text IS NULL OR memory_id < $3)
     ORDER BY memory_id DESC
     LIMIT 1)
    UNION ALL
    SELECT next.memory_id
    FROM lesson
    CROSS JOIN LATERAL (
        SELECT trial.memory_id
        FROM sidemirror.lesson_trials AS trial
        WHERE trial.tenant_id = $1 AND trial.project_id = $2 AND trial.memory_id < lesson.memory_id
        ORDER BY trial.memory_id DESC
        LIMIT 1
    ) AS next
)
SELECT memory_id FROM lesson LIMIT $4

-- name: old
-- Across scopes: trials that were assigned before $1, oldest first, at most $2, for one entry of `Serves` ($3, $4; NULL
-- for all). Rows that another sidecar has locked are skipped.
SELECT tenant_id, project_id, receipt_id, memory_id
FROM sidemirror.lesson_trial_envelopes
WHERE assigned_us < $1
      AND ($3::text IS NULL OR tenant_id = $3) AND ($4::text IS NULL OR project_id = $4)
ORDER BY assigned_us
LIMIT $2
FOR UPDATE SKIP LOCKED

-- name: forget
-- Removes these trials ($3 receipts, $4 lessons).
DELETE FROM sidemirror.lesson_trials AS trial
USING unnest($3::text[], $4::text[]) AS gone (receipt_id, memory_id)
WHERE trial.tenant_id = $1 AND trial.project_id = $2 AND trial.receipt_id = gone.receipt_id
      AND trial.memory_id = gone.memory_id
