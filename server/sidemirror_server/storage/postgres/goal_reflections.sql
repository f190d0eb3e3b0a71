-- Goal reflections (goals/store.py). $1, $2: the scope; $3: the goal, where there is one.

-- name: refused
-- Whether an entry of the goal with this time was deleted a short while ago.
SELECT 1
FROM sidemirror.goal_deletions
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = $3 AND $4 <= deleted_us AND deleted_us > $5

-- name: put
-- A reflection; nothing when the goal has one of this id.
INSERT INTO sidemirror.goal_reflections
    (tenant_id, project_id, goal_id, created_us, reflection_id, objective, insight, importance, goal_state, origin)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT DO NOTHING

-- name: trim
-- All but a goal's newest reflections go.
DELETE FROM sidemirror.goal_reflections
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = $3
      AND (created_us, reflection_id) < (
          SELECT created_us, reflection_id
          FROM sidemirror.goal_reflections
          WHERE tenant_id = $1 AND project_id = $2 AND goal_id = $3
          ORDER BY created_us DESC, reflection_id DESC
          LIMIT 1 OFFSET $4 - 1
      )

-- name: has
-- Whether the goal has the reflection of this id.
SELECT 1
FROM sidemirror.goal_reflections
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = $3 AND reflection_id = $4

-- name: name_words
-- The goal has these words.
INSERT INTO sidemirror.goal_words AS known (tenant_id, project_id, word, goal_id, newest_us)
SELECT $1, $2, word, $3, $4::bigint FROM unnest($5::text[]) AS word
ON CONFLICT (tenant_id, project_id, word, goal_id)
DO UPDATE SET newest_us = greatest(known.newest_us, excluded.newest_us)

-- name: of_goals
-- Reflections of goals that were created after a time, the newest first.
SELECT goal_id, created_us, reflection_id, objective, insight, importance, goal_state, origin
FROM sidemirror.goal_reflections
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = ANY ($3::text[]) AND created_us > $4
ORDER BY created_us DESC, reflection_id DESC

-- name: newest
-- The goals of the scope's newest reflections after a time, the newest first; a goal comes as often as it has some.
SELECT goal_id
FROM sidemirror.goal_reflections
WHERE tenant_id = $1 AND project_id = $2 AND created_us > $3
ORDER BY created_us DESC, goal_id DESC
LIMIT $4

-- name: with_words
-- The goals that share words, most words first, then the newest.
SELECT goal_id
FROM sidemirror.goal_words
WHERE tenant_id = $1 AND project_id = $2 AND word = ANY ($3::text[])
GROUP BY goal_id
ORDER BY count(*) DESC, max(newest_us) DESC, goal_id DESC
LIMIT $4

-- name: delete
-- A goal's reflections go.
DELETE FROM sidemirror.goal_reflections
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = $3

-- name: delete_words
-- Its words go.
DELETE FROM sidemirror.goal_words
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = $3

-- name: deleted
-- Until now its reflections are deleted.
INSERT INTO sidemirror.goal_deletions (tenant_id, project_id, goal_id, deleted_us)
VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, project_id, goal_id) DO UPDATE SET deleted_us = excluded.deleted_us

-- name: oldest
-- Goals of the scope with reflections from before a time.
SELECT DISTINCT goal_id
FROM sidemirror.goal_reflections
WHERE tenant_id = $1 AND project_id = $2 AND created_us < $3
LIMIT $4

-- name: forget
-- A goal's reflections from before a time go.
DELETE FROM sidemirror.goal_reflections
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = $3 AND created_us < $4

-- name: forget_deletions
-- Deletions of the scope from before a time go, some of them.
DELETE FROM sidemirror.goal_deletions
WHERE tenant_id = $1 AND project_id = $2
      AND goal_id IN (
          SELECT goal_id
          FROM sidemirror.goal_deletions
          WHERE tenant_id = $1 AND project_id = $2 AND deleted_us < $3
          ORDER BY deleted_us
          LIMIT $4
      )
