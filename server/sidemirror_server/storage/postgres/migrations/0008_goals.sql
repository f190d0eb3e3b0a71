-- compatible: yes
-- What finished goals taught (goals/store.py).

CREATE TABLE sidemirror.goal_reflections (
    tenant_id     text COLLATE "C" NOT NULL,
    project_id    text COLLATE "C" NOT NULL,
    goal_id       text COLLATE "C" NOT NULL,
    created_us    bigint NOT NULL,
    reflection_id text COLLATE "C" NOT NULL,
    objective     text COLLATE "C" NOT NULL,
    insight       text COLLATE "C" NOT NULL,
    importance    double precision NOT NULL,
    goal_state    text NOT NULL,
    origin        bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, goal_id, reflection_id)
);
SELECT sidemirror.protect('sidemirror.goal_reflections');

-- A goal's newest, and a scope's newest goals.
CREATE INDEX goal_reflections_of_goal
ON sidemirror.goal_reflections (tenant_id, project_id, goal_id, created_us, reflection_id);
CREATE INDEX goal_reflections_newest ON sidemirror.goal_reflections (tenant_id, project_id, created_us, goal_id);

-- Which goals' objectives have a word, and when each was last used.
CREATE TABLE sidemirror.goal_words (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    word       text COLLATE "C" NOT NULL,
    goal_id    text COLLATE "C" NOT NULL,
    newest_us  bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, word, goal_id)
);
SELECT sidemirror.protect('sidemirror.goal_words');
CREATE INDEX goal_words_of_goal ON sidemirror.goal_words (tenant_id, project_id, goal_id);

-- Up to when a goal's reflections were deleted.
CREATE TABLE sidemirror.goal_deletions (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    goal_id    text COLLATE "C" NOT NULL,
    deleted_us bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, goal_id)
);
SELECT sidemirror.protect('sidemirror.goal_deletions');
