-- The statements of storage/sqlite/observations.py.

-- name: due
-- Across scopes: unlearned turns that are due, the longest due first. Columns: the fields of UnlearnedTurn, in order.
SELECT tenant_id, project_id, turn_id, attempts + 1, is_late
FROM unlearned_turns INDEXED BY unlearned_turns_due
WHERE due_us <= :now_us
      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
ORDER BY due_us
LIMIT :limit

-- name: claim
-- Counts an attempt of an unlearned turn, and makes it due later.
UPDATE unlearned_turns
SET due_us = :until_us, attempts = attempts + 1
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id

-- name: put
-- Adds an observation whose turns are stored. No change if the scope has its id.
INSERT INTO observations (tenant_id, project_id, observation_id, turn_id, last_turn_id, signature, at_us, body)
SELECT :tenant_id, :project_id, :observation_id, :turn_id, :last_turn_id, :signature, :at_us, :body
WHERE EXISTS (SELECT 1 FROM turns WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id)
      AND EXISTS (SELECT 1 FROM turns
                  WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :last_turn_id)
ON CONFLICT (tenant_id, project_id, observation_id) DO NOTHING

-- name: shorten
-- Removes the oldest observations of a signature beyond :most; returns their ids.
DELETE FROM observations
WHERE tenant_id = :tenant_id AND project_id = :project_id
      AND observation_id IN (SELECT observation_id FROM observations INDEXED BY observations_of_signature
                             WHERE tenant_id = :tenant_id AND project_id = :project_id AND signature = :signature
                             ORDER BY at_us DESC, observation_id DESC
                             LIMIT -1 OFFSET :most)
RETURNING observation_id

-- name: learned
-- Marks a turn as learned.
DELETE FROM unlearned_turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id

-- name: again
-- Makes a turn due once more, as late, if it is still unlearned.
UPDATE unlearned_turns
SET due_us = :again_us, attempts = 0, is_late = 1
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id

-- name: of_signature
-- The observations of a signature, oldest first.
SELECT body
FROM observations INDEXED BY observations_of_signature
WHERE tenant_id = :tenant_id AND project_id = :project_id AND signature = :signature
ORDER BY at_us, observation_id

-- name: signatures
-- The signatures above one, in order. Steps from signature to signature by the index.
WITH RECURSIVE known (signature) AS (
    SELECT min(signature)
    FROM observations
    WHERE tenant_id = :tenant_id AND project_id = :project_id AND signature > :after
    UNION ALL
    SELECT (SELECT min(following.signature)
            FROM observations AS following
            WHERE following.tenant_id = :tenant_id AND following.project_id = :project_id
                  AND following.signature > known.signature)
    FROM known
    WHERE known.signature IS NOT NULL
    LIMIT :limit
)
SELECT signature FROM known WHERE signature IS NOT NULL

-- name: put_imported
-- Adds an observation that belongs to no turn of this store: a turn of the same id is another one. No change if the
-- scope has its id.
INSERT INTO observations (tenant_id, project_id, observation_id, turn_id, last_turn_id, signature, at_us, body)
VALUES (:tenant_id, :project_id, :observation_id, '', '', :signature, :at_us, :body)
ON CONFLICT (tenant_id, project_id, observation_id) DO NOTHING

-- name: note_imported
-- Notes that an observation was imported, so that it goes by its age.
INSERT INTO imported_observations (tenant_id, project_id, observation_id, heard_us)
VALUES (:tenant_id, :project_id, :observation_id, :heard_us)

-- name: old_imported
-- Across scopes: imported observations that were heard before a time, the oldest first.
SELECT tenant_id, project_id, observation_id
FROM imported_observations INDEXED BY imported_observations_by_age
WHERE heard_us < :before_us
      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
      AND NOT EXISTS (SELECT 1 FROM json_each(:but) AS but
                      WHERE but.value ->> 0 = tenant_id AND coalesce(but.value ->> 1, project_id) = project_id)
ORDER BY heard_us
LIMIT :limit

-- name: forget
-- Removes an observation.
DELETE FROM observations
WHERE tenant_id = :tenant_id AND project_id = :project_id AND observation_id = :observation_id

-- name: subjects
-- What is noted of records (a JSON list), as (record, source), in order.
SELECT record, source
FROM sources
WHERE tenant_id = :tenant_id AND project_id = :project_id AND record IN (SELECT value FROM json_each(:records))
ORDER BY record, source
