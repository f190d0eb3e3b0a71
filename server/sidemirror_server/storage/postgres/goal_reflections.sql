-- The statements of storage/postgres/goal_reflections.py. $1, $2: the tenant and the project. $3: usually the goal.

-- name: refused
-- One row if the goal was deleted recently, at or after the reflection's creation.
SELECT 1
FROM sidemirror.goal_deletions
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = $3 AND $4 <= deleted_us AND deleted_us > $5

-- name: put
-- Adds a reflection. No change if the goal already has one with this id.
INSERT INTO sidemirror.goal_reflections
    (tenant_id, project_id, goal_id, created_us, reflection_id, objective, insight, importance, goal_state, origin)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT DO NOTHING

-- name: trim
-- Removes all but the $4 newest reflections of a goal.
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
-- One row if the goal has a reflection with this id.
SELECT 1
FROM sidemirror.goal_reflections
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = $3 AND reflection_id = $4

-- name: name_words
-- Adds the words of a goal's objective to the index.
INSERT INTO sidemirror.goal_words AS known (tenant_id, project_id, word, goal_id, newest_us)
SELECT $1, $2, word, $3, $4::bigint FROM unnest($5::text[]) AS word
ON CONFLICT (tenant_id, project_id, word, goal_id)
DO UPDATE SET newest_us = greatest(known.newest_us, excluded.newest_us)

-- name: of_goals
-- The reflections of these goals that were created after a time, newest first.
SELECT goal_id, created_us, reflection_id, objective, insight, importance, goal_state, origin
FROM sidemirror.goal_reflections
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = ANY ($3::text[]) AND created_us > $4
ORDER BY created_us DESC, reflection_id DESC

-- name: newest
-- The goal of each reflection of the scope that was created after a time, newest first. A goal may occur several times.
SELECT goal_id
FROM sidemirror.goal_reflections
WHERE tenant_id = $1 AND project_id = $2 AND created_us > $3
ORDER BY created_us DESC, goal_id DESC
LIMIT $4

-- name: with_words
-- The goals whose objectives have some of the words $3: most words first, then newest first.
SELECT goal_id
FROM sidemirror.goal_words
WHERE tenant_id = $1 AND project_id = $2 AND word = ANY ($3::text[])
GROUP BY goal_id
ORDER BY count(*) DESC, max(newest_us) DESC, goal_id DESC
LIMIT $4

-- name: delete
-- Removes the reflections of a goal.
DELETE FROM sidemirror.goal_reflections
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = $3

-- name: delete_words
-- Removes the words of a goal from the index.
DELETE FROM sidemirror.goal_words
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = $3

-- name: deleted
-- Records the time at which a goal was deleted.
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
-- Removes the reflections of a goal that were created before a time.
DELETE FROM sidemirror.goal_reflections
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = $3 AND created_us < $4

-- name: forget_deletions
-- Removes the oldest recorded deletions of the scope from before a time.
DELETE FROM sidemirror.goal_deletions
WHERE tenant_id = $1 AND project_id = $2
      AND goal_id IN (
          SELECT goal_id
          FROM sidemirror.goal_deletions
          WHERE tenant_id = $1 AND project_id = $2 AND deleted_us < $3
          ORDER BY deleted_us
          LIMIT $4
      )

-- name: remove
-- Removes one reflection ($4) of a goal.
DELETE FROM sidemirror.goal_reflections
WHERE tenant_id = $1 AND project_id = $2 AND goal_id = $3 AND reflection_id = $4

-- name: every
-- The goal and the id of each reflection. Reads all of the scope: only for a store that came from a backup.
SELECT goal_id, reflection_id FROM sidemirror.goal_reflections WHERE tenant_id = $1 AND project_id = $2
