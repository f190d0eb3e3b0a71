-- The statements of storage/postgres/critiques.py. $1 and $2 are the tenant and the project. Columns follow the fields
-- of CritiqueRecord, with the outcome last.

-- name: keep
-- Adds a critique. No change if the scope already has the id.
INSERT INTO sidemirror.critiques (tenant_id, project_id, critique_id, created_us, provider, confidence_ppm, revise,
                                  turn_id, session_id, body, model, stated_ppm)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (tenant_id, project_id, critique_id) DO NOTHING

-- name: get
-- One critique.
SELECT critique_id, created_us, provider, confidence_ppm, revise, turn_id, session_id, body, outcome, score, reported_us,
       revised_outcome
FROM sidemirror.critiques
WHERE tenant_id = $1 AND project_id = $2 AND critique_id = $3

-- name: list
-- The critiques of a scope, newest first, after a cursor.
SELECT critique_id, created_us, provider, confidence_ppm, revise, turn_id, session_id, body, outcome, score, reported_us,
       revised_outcome
FROM sidemirror.critiques
WHERE tenant_id = $1 AND project_id = $2 AND (created_us, critique_id) < ($3, $4)
ORDER BY created_us DESC, critique_id DESC
LIMIT $5

-- name: list_of_turn
-- Like `list`, for one turn. With $7, only critiques of that session.
SELECT critique_id, created_us, provider, confidence_ppm, revise, turn_id, session_id, body, outcome, score, reported_us,
       revised_outcome
FROM sidemirror.critiques
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $6 AND turn_id <> ''
      AND ($7::text IS NULL OR session_id = $7) AND (created_us, critique_id) < ($3, $4)
ORDER BY created_us DESC, critique_id DESC
LIMIT $5

-- name: verdicts
-- How many critiques turns ($3) have, and how many call for a revision.
SELECT turn_id, count(*), count(*) FILTER (WHERE revise)
FROM sidemirror.critiques
WHERE tenant_id = $1 AND project_id = $2 AND turn_id <> '' AND turn_id = ANY ($3::text[])
GROUP BY turn_id

-- name: list_of_session
-- Like `list`, for one session.
SELECT critique_id, created_us, provider, confidence_ppm, revise, turn_id, session_id, body, outcome, score, reported_us,
       revised_outcome
FROM sidemirror.critiques
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $6 AND session_id <> ''
      AND (created_us, critique_id) < ($3, $4)
ORDER BY created_us DESC, critique_id DESC
LIMIT $5

-- name: report
-- Records the outcomes of the response and of its revision ($7), in place of earlier reports. An empty one leaves the
-- earlier report.
UPDATE sidemirror.critiques
SET outcome = CASE WHEN $4::text = '' THEN outcome ELSE $4 END,
    score = CASE WHEN $4::text = '' THEN score ELSE $5 END,
    reported_us = $6,
    revised_outcome = CASE WHEN $7::text = '' THEN revised_outcome ELSE $7 END
WHERE tenant_id = $1 AND project_id = $2 AND critique_id = $3

-- name: figures
-- Figures from $3 on and before $4, by bucket ($5 long; NULL: one bucket) and provider ($6; NULL: all). Sorted by both.
-- Columns: the fields of Figures, in order. A percentile is the nearest rank of n confidences: place ceil(p * n / 100)
-- in ascending order, at least the first.
WITH counted AS (
    SELECT CASE WHEN $5::bigint IS NULL THEN $3 ELSE created_us / $5 * $5 END AS bucket_us,
           provider, confidence_ppm, revise, outcome = 'success' AS succeeded
    FROM sidemirror.critiques
    WHERE tenant_id = $1 AND project_id = $2 AND created_us >= $3 AND created_us < $4
          AND ($6::text IS NULL OR provider = $6)
),
ranked AS (
    SELECT *,
           row_number() OVER (PARTITION BY bucket_us, provider ORDER BY confidence_ppm NULLS LAST) AS place,
           count(confidence_ppm) OVER (PARTITION BY bucket_us, provider) AS confident
    FROM counted
)
SELECT bucket_us,
       provider,
       count(*),
       count(confidence_ppm),
       coalesce(sum(confidence_ppm), 0)::bigint,
       max(confidence_ppm) FILTER (WHERE place = greatest(1, (10 * confident + 99) / 100)),
       max(confidence_ppm) FILTER (WHERE place = greatest(1, (50 * confident + 99) / 100)),
       max(confidence_ppm) FILTER (WHERE place = greatest(1, (90 * confident + 99) / 100)),
       count(*) FILTER (WHERE revise),
       count(succeeded),
       count(*) FILTER (WHERE succeeded <> revise)
FROM ranked
GROUP BY bucket_us, provider
ORDER BY bucket_us, provider

-- name: reported
-- The newest $6 outcomes of one model's ($3, $4) verdicts since $5, counted. Columns: the fields of Reported, in order.
SELECT stated_ppm, revise, outcome = 'success', revised_outcome = 'success', count(*)
FROM (SELECT stated_ppm, revise, outcome, revised_outcome
      FROM sidemirror.critiques
      WHERE tenant_id = $1 AND project_id = $2 AND provider = $3 AND model = $4 AND reported_us >= $5
      ORDER BY reported_us DESC LIMIT $6) AS newest
GROUP BY 1, 2, 3, 4

-- name: reported_models
-- Providers and models whose verdicts have outcomes reported since $3.
SELECT DISTINCT provider, model
FROM sidemirror.critiques
WHERE tenant_id = $1 AND project_id = $2 AND model <> '' AND reported_us >= $3
ORDER BY provider, model

-- name: old
-- Across scopes: critiques that were created before $1, oldest first, at most $2, for one entry of `Serves` ($3, $4;
-- NULL for all). Rows that another sidecar has locked are skipped.
SELECT tenant_id, project_id, critique_id
FROM sidemirror.critique_envelopes
WHERE created_us < $1
      AND ($3::text IS NULL OR tenant_id = $3) AND ($4::text IS NULL OR project_id = $4)
      AND NOT EXISTS (SELECT FROM unnest($5::text[], $6::text[]) AS but (tenant, project)
                      WHERE but.tenant = tenant_id AND coalesce(but.project, project_id) = project_id)
ORDER BY created_us
LIMIT $2
FOR UPDATE SKIP LOCKED

-- name: forget
-- Removes these critiques.
DELETE FROM sidemirror.critiques
WHERE tenant_id = $1 AND project_id = $2 AND critique_id = ANY ($3::text[])
