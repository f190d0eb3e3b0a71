-- The statements of storage/postgres/observations.py. $1 and $2 are the tenant and the project, where nothing else is
-- said.

-- name: claim
-- Across scopes: unlearned turns that are due by $1, the longest due first, at most $3, for one entry of `Serves` ($4,
-- $5; NULL for all). Counts an attempt of each and makes it due again at $2. Rows that another sidecar has locked are
-- skipped. Columns: the fields of UnlearnedTurn, in order.
WITH due AS (
    SELECT tenant_id, project_id, turn_id, due_us
    FROM sidemirror.unlearned_turn_envelopes
    WHERE due_us <= $1
          AND ($4::text IS NULL OR tenant_id = $4) AND ($5::text IS NULL OR project_id = $5)
    ORDER BY due_us
    LIMIT $3
    FOR UPDATE SKIP LOCKED
), claimed AS (
    UPDATE sidemirror.unlearned_turn_envelopes AS unlearned
    SET due_us = $2, attempts = attempts + 1
    FROM due
    WHERE unlearned.tenant_id = due.tenant_id AND unlearned.project_id = due.project_id
          AND unlearned.turn_id = due.turn_id
    RETURNING unlearned.tenant_id, unlearned.project_id, unlearned.turn_id, unlearned.attempts, unlearned.is_late,
              due.due_us
)
SELECT tenant_id, project_id, turn_id, attempts, is_late
FROM claimed
ORDER BY due_us

-- name: hold
-- Locks those of the turns $3 that are stored, so that none is removed before the transaction ends.
SELECT turn_id
FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = ANY ($3::text[])
ORDER BY turn_id
FOR KEY SHARE

-- name: put
-- Adds observations ($3 to $8: ids, turns, turns of the last call, signatures, times, bodies). One whose id the scope
-- has is skipped. Imported ones belong to no turn of this store (''): a turn of the same id is another one.
INSERT INTO sidemirror.observations (tenant_id, project_id, observation_id, turn_id, last_turn_id, signature, at_us,
                                     body)
SELECT $1, $2, taught.*
FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bytea[])
     AS taught (observation_id, turn_id, last_turn_id, signature, at_us, body)
ORDER BY taught.observation_id COLLATE "C"
ON CONFLICT (tenant_id, project_id, observation_id) DO NOTHING

-- name: shorten
-- Removes the oldest observations of a signature $3 beyond $4; returns their ids.
DELETE FROM sidemirror.observations AS taught
USING (SELECT observation_id
       FROM sidemirror.observations
       WHERE tenant_id = $1 AND project_id = $2 AND signature = $3
       ORDER BY at_us DESC, observation_id DESC
       OFFSET $4) AS old
WHERE taught.tenant_id = $1 AND taught.project_id = $2 AND taught.observation_id = old.observation_id
RETURNING taught.observation_id

-- name: learned
-- Marks a turn $3 as learned.
DELETE FROM sidemirror.unlearned_turn_envelopes
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $3

-- name: again
-- Makes a turn $3 due once more at $4, as late, if it is still unlearned.
UPDATE sidemirror.unlearned_turn_envelopes
SET due_us = $4, attempts = 0, is_late = true
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $3

-- name: of_signature
-- The observations of a signature, oldest first.
SELECT body
FROM sidemirror.observations
WHERE tenant_id = $1 AND project_id = $2 AND signature = $3
ORDER BY at_us, observation_id

-- name: signatures
-- At most $4 signatures above $3, in order. Steps from signature to signature by the index.
WITH RECURSIVE known (signature) AS (
    (SELECT signature
     FROM sidemirror.observations
     WHERE tenant_id = $1 AND project_id = $2 AND signature > $3
     ORDER BY signature
     LIMIT 1)
    UNION ALL
    SELECT following.signature
    FROM known
    CROSS JOIN LATERAL (
        SELECT taught.signature
        FROM sidemirror.observations AS taught
        WHERE taught.tenant_id = $1 AND taught.project_id = $2 AND taught.signature > known.signature
        ORDER BY taught.signature
        LIMIT 1
    ) AS following
)
SELECT signature FROM known LIMIT $4

-- name: note_imported
-- Notes that an observation $3, heard at $4, was imported, so that it goes by its age.
INSERT INTO sidemirror.imported_observation_envelopes (tenant_id, project_id, observation_id, heard_us)
VALUES ($1, $2, $3, $4)

-- name: old_imported
-- Across scopes: imported observations that were heard before $1, the oldest first, at most $2, for one entry of `Serves`
-- ($3, $4; NULL for all) without those of $5 and $6.
SELECT tenant_id, project_id, observation_id
FROM sidemirror.imported_observation_envelopes
WHERE heard_us < $1
      AND ($3::text IS NULL OR tenant_id = $3) AND ($4::text IS NULL OR project_id = $4)
      AND NOT EXISTS (SELECT FROM unnest($5::text[], $6::text[]) AS but (tenant, project)
                      WHERE but.tenant = tenant_id AND coalesce(but.project, project_id) = project_id)
ORDER BY heard_us
LIMIT $2

-- name: forget
-- Removes these observations ($3). Those that another transaction has locked are skipped: it may wait for one of them.
DELETE FROM sidemirror.observations
WHERE tenant_id = $1 AND project_id = $2
      AND observation_id = ANY (ARRAY (SELECT observation_id FROM sidemirror.observations
                                       WHERE tenant_id = $1 AND project_id = $2 AND observation_id = ANY ($3::text[])
                                       FOR UPDATE SKIP LOCKED))

-- name: subjects
-- What is noted of these records ($3): each record with a list, in order.
SELECT record, array_agg(source ORDER BY source)
FROM sidemirror.sources
WHERE tenant_id = $1 AND project_id = $2 AND record = ANY ($3::text[])
GROUP BY record
