-- What finished goals taught (goals/store.py).

CREATE TABLE goal_reflections (
    tenant_id     TEXT NOT NULL,
    project_id    TEXT NOT NULL,
    goal_id       TEXT NOT NULL,
    created_us    INTEGER NOT NULL,
    reflection_id TEXT NOT NULL,
    objective     TEXT NOT NULL,
    insight       TEXT NOT NULL,
    importance    REAL NOT NULL,
    goal_state    TEXT NOT NULL,
    origin        INTEGER NOT NULL,
    UNIQUE (tenant_id, project_id, goal_id, reflection_id)
) STRICT;

-- A goal's newest, and a scope's newest goals.
CREATE INDEX goal_reflections_of_goal ON goal_reflections (tenant_id, project_id, goal_id, created_us, reflection_id);
CREATE INDEX goal_reflections_newest ON goal_reflections (tenant_id, project_id, created_us, goal_id);

-- Which goals' objectives have a word, and when each was last used.
CREATE TABLE goal_words (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    word       TEXT NOT NULL,
    goal_id    TEXT NOT NULL,
    newest_us  INTEGER NOT NULL,
    UNIQUE (tenant_id, project_id, word, goal_id)
) STRICT;
CREATE INDEX goal_words_of_goal ON goal_words (tenant_id, project_id, goal_id);

-- Up to when a goal's reflections were deleted.
CREATE TABLE goal_deletions (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    goal_id    TEXT NOT NULL,
    deleted_us INTEGER NOT NULL,
    UNIQUE (tenant_id, project_id, goal_id)
) STRICT;
