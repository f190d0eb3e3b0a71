-- Goal reflections (goals/store.py). `:goals`, `:words`: JSON arrays.

-- name: refused
-- Whether an entry of the goal with this time was deleted a short while ago.
SELECT 1
FROM goal_deletions
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id
      AND :created_us <= deleted_us AND deleted_us > :refused_since_us

-- name: put
-- A reflection; nothing when the goal has one of this id.
INSERT INTO goal_reflections
    (tenant_id, project_id, goal_id, created_us, reflection_id, objective, insight, importance, goal_state, origin)
VALUES (:tenant_id, :project_id, :goal_id, :created_us, :reflection_id, :objective, :insight, :importance, :goal_state,
        :origin)
ON CONFLICT DO NOTHING

-- name: trim
-- All but a goal's newest reflections go.
DELETE FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id
      AND (created_us, reflection_id) < (
          SELECT created_us, reflection_id
          FROM goal_reflections
          WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id
          ORDER BY created_us DESC, reflection_id DESC
          LIMIT 1 OFFSET :most - 1
      )

-- name: has
-- Whether the goal has the reflection of this id.
SELECT 1
FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id AND reflection_id = :reflection_id

-- name: name_words
-- The goal has these words.
INSERT INTO goal_words (tenant_id, project_id, word, goal_id, newest_us)
SELECT :tenant_id, :project_id, value, :goal_id, :created_us FROM json_each(:words) WHERE TRUE
ON CONFLICT (tenant_id, project_id, word, goal_id) DO UPDATE SET newest_us = max(newest_us, excluded.newest_us)

-- name: of_goal
-- A goal's reflections that were created after a time, the newest first.
SELECT goal_id, created_us, reflection_id, objective, insight, importance, goal_state, origin
FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id AND created_us > :since_us
ORDER BY created_us DESC, reflection_id DESC

-- name: newest
-- The goals of the scope's newest reflections after a time, the newest first; a goal comes as often as it has some.
SELECT goal_id
FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND created_us > :since_us
ORDER BY created_us DESC, goal_id DESC
LIMIT :limit

-- name: with_words
-- The goals that share words, most words first, then the newest.
SELECT goal_id
FROM goal_words
WHERE tenant_id = :tenant_id AND project_id = :project_id AND word IN (SELECT value FROM json_each(:words))
GROUP BY goal_id
ORDER BY count(*) DESC, max(newest_us) DESC, goal_id DESC
LIMIT :limit

-- name: delete
-- A goal's reflections go.
DELETE FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id

-- name: delete_words
-- Its words go.
DELETE FROM goal_words
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id

-- name: deleted
-- Until now its reflections are deleted.
INSERT INTO goal_deletions (tenant_id, project_id, goal_id, deleted_us)
VALUES (:tenant_id, :project_id, :goal_id, :now_us)
ON CONFLICT (tenant_id, project_id, goal_id) DO UPDATE SET deleted_us = excluded.deleted_us

-- name: oldest
-- Goals of the scope with reflections from before a time.
SELECT DISTINCT goal_id
FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND created_us < :before_us
LIMIT :limit

-- name: forget
-- A goal's reflections from before a time go.
DELETE FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id AND created_us < :before_us

-- name: forget_deletions
-- Deletions of the scope from before a time go, some of them.
DELETE FROM goal_deletions
WHERE tenant_id = :tenant_id AND project_id = :project_id
      AND goal_id IN (
          SELECT goal_id
          FROM goal_deletions
          WHERE tenant_id = :tenant_id AND project_id = :project_id AND deleted_us < :before_us
          ORDER BY deleted_us
          LIMIT :limit
      )
