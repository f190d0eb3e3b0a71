-- The statements of storage/sqlite/trials.py.

-- name: assign
-- Adds a trial. No change if the receipt already has one of this lesson.
INSERT INTO lesson_trials (tenant_id, project_id, receipt_id, memory_id, version, arm, fraction, assigned_us)
VALUES (:tenant_id, :project_id, :receipt_id, :memory_id, :version, :arm, :fraction, :assigned_us)
ON CONFLICT (tenant_id, project_id, receipt_id, memory_id) DO NOTHING

-- name: of_receipt
-- The trials of a receipt. Columns: the fields of Trial, in order.
SELECT memory_id, version, arm, fraction
FROM lesson_trials
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :receipt_id
ORDER BY memory_id

-- name: results
-- The trials of receipts: the receipt, then the fields of Trial and of TrialResult. :receipt_ids is a JSON array.
SELECT receipt_id, memory_id, version, arm, fraction, succeeded, returned
FROM lesson_trials
WHERE tenant_id = :tenant_id AND project_id = :project_id
      AND receipt_id IN (SELECT value FROM json_each(:receipt_ids))
ORDER BY receipt_id, memory_id

-- name: settle
-- Records the result of a trial, in place of an earlier result. Adds the trial if it is missing.
INSERT INTO lesson_trials (tenant_id, project_id, receipt_id, memory_id, version, arm, fraction, assigned_us, succeeded,
                           returned)
VALUES (:tenant_id, :project_id, :receipt_id, :memory_id, :version, :arm, :fraction, :assigned_us, :succeeded, :returned)
ON CONFLICT (tenant_id, project_id, receipt_id, memory_id)
DO UPDATE SET succeeded = excluded.succeeded, returned = excluded.returned

-- name: tally
-- Counts of a lesson's trials from a version on. Columns: the fields of ArmTally, in order.
SELECT arm, fraction, count(*), count(*) FILTER (WHERE succeeded), count(*) FILTER (WHERE NOT succeeded),
       count(*) FILTER (WHERE returned), count(*) FILTER (WHERE NOT returned)
FROM lesson_trials INDEXED BY lesson_trials_of_lesson
WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :memory_id AND version >= :from_version
GROUP BY fraction, arm
ORDER BY fraction, arm

-- name: lessons
-- The lessons with trials, in descending order from below :before. The query steps from lesson to lesson by the index.
WITH RECURSIVE lesson (memory_id) AS (
    SELECT max(memory_id)
    FROM lesson_trials
    WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id < :before
    UNION ALL
    SELECT (SELECT max(trial.memory_id)
            FROM lesson_trials AS trial
            WHERE trial.tenant_id = :tenant_id AND trial.project_id = :project_id
                  AND trial.memory_id < lesson.memory_id)
    FROM lesson
    WHERE lesson.memory_id IS NOT NULL
    LIMIT :limit
)
SELECT memory_id FROM lesson WHERE memory_id IS NOT NULL

-- name: forget
-- Across scopes: removes trials that were assigned before a time, oldest first.
DELETE FROM lesson_trials
WHERE rowid IN (SELECT rowid FROM lesson_trials INDEXED BY lesson_trials_oldest
                WHERE assigned_us < :before_us
                      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
                ORDER BY assigned_us LIMIT :limit)
