-- The statements of storage/sqlite/critiques.py. Columns follow the fields of CritiqueRecord, with the outcome last.

-- name: keep
-- Adds a critique. No change if the scope already has the id.
INSERT INTO critiques (tenant_id, project_id, critique_id, created_us, provider, confidence_ppm, revise, turn_id,
                       session_id, body, model, stated_ppm)
VALUES (:tenant_id, :project_id, :critique_id, :created_us, :provider, :confidence_ppm, :revise, :turn_id,
        :session_id, :body, :model, :stated_ppm)
ON CONFLICT (tenant_id, project_id, critique_id) DO NOTHING

-- name: get
-- One critique.
SELECT critique_id, created_us, provider, confidence_ppm, revise, turn_id, session_id, body, outcome, score, reported_us,
       revised_outcome
FROM critiques
WHERE tenant_id = :tenant_id AND project_id = :project_id AND critique_id = :critique_id

-- name: list
-- The critiques of a scope, newest first, after a cursor.
SELECT critique_id, created_us, provider, confidence_ppm, revise, turn_id, session_id, body, outcome, score, reported_us,
       revised_outcome
FROM critiques INDEXED BY critiques_newest
WHERE tenant_id = :tenant_id AND project_id = :project_id
  AND (created_us, critique_id) < (:created_us, :critique_id)
ORDER BY created_us DESC, critique_id DESC
LIMIT :limit

-- name: list_of_turn
-- Like `list`, for one turn. With :session_id, only critiques of that session.
SELECT critique_id, created_us, provider, confidence_ppm, revise, turn_id, session_id, body, outcome, score, reported_us,
       revised_outcome
FROM critiques INDEXED BY critiques_of_turn
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id AND turn_id <> ''
  AND (:session_id IS NULL OR session_id = :session_id)
  AND (created_us, critique_id) < (:created_us, :critique_id)
ORDER BY created_us DESC, critique_id DESC
LIMIT :limit

-- name: list_of_session
-- Like `list`, for one session.
SELECT critique_id, created_us, provider, confidence_ppm, revise, turn_id, session_id, body, outcome, score, reported_us,
       revised_outcome
FROM critiques INDEXED BY critiques_of_session
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id AND session_id <> ''
  AND (created_us, critique_id) < (:created_us, :critique_id)
ORDER BY created_us DESC, critique_id DESC
LIMIT :limit

-- name: report
-- Records the outcomes of the response and of its revision, in place of earlier reports. An empty one leaves the
-- earlier report.
UPDATE critiques
SET outcome = iif(:outcome = '', outcome, :outcome),
    succeeded = iif(:outcome = '', succeeded, :outcome = 'success'),
    score = iif(:outcome = '', score, :score),
    revised_outcome = iif(:revised = '', revised_outcome, :revised),
    reported_us = :reported_us
WHERE tenant_id = :tenant_id AND project_id = :project_id AND critique_id = :critique_id

-- name: figures
-- Figures by bucket and provider, sorted by both. Columns: the fields of Figures, in order. A percentile is the nearest
-- rank of n confidences: place ceil(p * n / 100) in ascending order, at least the first.
WITH counted AS (
    SELECT iif(:bucket_us IS NULL, :start_us, created_us / :bucket_us * :bucket_us) AS bucket_us,
           provider, confidence_ppm, revise, succeeded
    FROM critiques INDEXED BY critiques_counted
    WHERE tenant_id = :tenant_id AND project_id = :project_id AND created_us >= :start_us AND created_us < :end_us
      AND (:provider IS NULL OR provider = :provider)
),
ranked AS (
    SELECT *,
           row_number() OVER whole AS place,
           count(confidence_ppm) OVER whole AS confident
    FROM counted
    WINDOW whole AS (
        PARTITION BY bucket_us, provider
        ORDER BY confidence_ppm NULLS LAST
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    )
)
SELECT bucket_us,
       provider,
       count(*),
       count(confidence_ppm),
       coalesce(sum(confidence_ppm), 0),
       max(iif(place = max(1, (10 * confident + 99) / 100), confidence_ppm, NULL)),
       max(iif(place = max(1, (50 * confident + 99) / 100), confidence_ppm, NULL)),
       max(iif(place = max(1, (90 * confident + 99) / 100), confidence_ppm, NULL)),
       sum(revise),
       count(succeeded),
       coalesce(sum(succeeded <> revise), 0)
FROM ranked
GROUP BY bucket_us, provider
ORDER BY bucket_us, provider

-- name: reported
-- The newest outcomes of one model's verdicts, counted. Columns: the fields of Reported, in order.
SELECT stated_ppm, revise, outcome = 'success', revised_outcome = 'success', count(*)
FROM (SELECT stated_ppm, revise, outcome, revised_outcome
      FROM critiques INDEXED BY critiques_reported
      WHERE tenant_id = :tenant_id AND project_id = :project_id AND provider = :provider AND model = :model
            AND reported_us >= :since_us AND reported_us IS NOT NULL
      ORDER BY reported_us DESC LIMIT :limit)
GROUP BY 1, 2, 3, 4

-- name: reported_models
-- Providers and models whose verdicts have reported outcomes.
SELECT DISTINCT provider, model
FROM critiques INDEXED BY critiques_reported
WHERE tenant_id = :tenant_id AND project_id = :project_id AND model <> '' AND reported_us >= :since_us
      AND reported_us IS NOT NULL
ORDER BY provider, model

-- name: verdicts
-- How many critiques turns have, and how many call for a revision. :turn_ids is a JSON array.
SELECT turn_id, count(*), sum(revise)
FROM critiques INDEXED BY critiques_of_turn
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id <> ''
      AND turn_id IN (SELECT value FROM json_each(:turn_ids))
GROUP BY turn_id

-- name: forget
-- Across scopes: removes critiques that were created before a time, oldest first.
DELETE FROM critiques
WHERE rowid IN (SELECT rowid FROM critiques INDEXED BY critiques_made
                WHERE created_us < :before_us
                      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
                      AND NOT EXISTS (SELECT 1 FROM json_each(:but) AS but
                                      WHERE but.value ->> 0 = tenant_id AND coalesce(but.value ->> 1, project_id) = project_id)
                ORDER BY created_us LIMIT :limit)
