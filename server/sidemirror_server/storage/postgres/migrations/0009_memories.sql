-- compatible: yes
-- Memories (memory/store.py): a memory as it is now, what it was before, and what it is recognised by.

CREATE TABLE sidemirror.memories (
    tenant_id      text COLLATE "C" NOT NULL,
    project_id     text COLLATE "C" NOT NULL,
    memory_id      text COLLATE "C" NOT NULL,
    kind           text COLLATE "C" NOT NULL CHECK (kind IN ('reflection', 'strategy')),
    state          text COLLATE "C" NOT NULL CHECK (state IN ('active', 'quarantined', 'retired')),
    source         text COLLATE "C" NOT NULL,
    layer          text COLLATE "C" NOT NULL,
    importance     double precision NOT NULL CHECK (importance BETWEEN 0 AND 1),
    confidence     double precision CHECK (confidence BETWEEN 0 AND 1),
    origin         smallint NOT NULL,
    error_category text COLLATE "C" NOT NULL,
    tags           text[] COLLATE "C" NOT NULL,
    version        bigint NOT NULL CHECK (version >= 1),
    strength       bigint NOT NULL CHECK (strength >= 1),
    created_us     bigint NOT NULL,
    updated_us     bigint NOT NULL,
    content        text COLLATE "C" NOT NULL,
    task_text      text COLLATE "C" NOT NULL,
    content_terms  text COLLATE "C" NOT NULL, -- memory/terms.py
    task_terms     text COLLATE "C" NOT NULL,
    body           bytea NOT NULL,            -- everything but the two texts, as JSON
    PRIMARY KEY (tenant_id, project_id, memory_id)
);
SELECT sidemirror.protect('sidemirror.memories');

-- Lists: of a scope, and in one state.
CREATE INDEX memories_newest ON sidemirror.memories (tenant_id, project_id, created_us, memory_id) INCLUDE (kind);
CREATE INDEX memories_in_state ON sidemirror.memories (tenant_id, project_id, state, created_us, memory_id)
INCLUDE (kind);

CREATE TABLE sidemirror.memory_versions (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    memory_id  text COLLATE "C" NOT NULL,
    version    bigint NOT NULL,
    content    text COLLATE "C" NOT NULL,
    task_text  text COLLATE "C" NOT NULL,
    body       bytea NOT NULL,
    PRIMARY KEY (tenant_id, project_id, memory_id, version)
);
SELECT sidemirror.protect('sidemirror.memory_versions');

-- Texts ('t:…') and episodes ('e:…') by which a memory is known when it is learned once more.
CREATE TABLE sidemirror.memory_keys (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    known_by   text COLLATE "C" NOT NULL,
    memory_id  text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, project_id, kind, known_by, memory_id)
);
SELECT sidemirror.protect('sidemirror.memory_keys');
CREATE INDEX memory_keys_of ON sidemirror.memory_keys (tenant_id, project_id, memory_id);

-- What a write came to, so that a repeated one finds it.
CREATE TABLE sidemirror.memory_lessons (
    tenant_id     text COLLATE "C" NOT NULL,
    project_id    text COLLATE "C" NOT NULL,
    lesson_id     text COLLATE "C" NOT NULL,
    reflection_id text COLLATE "C" NOT NULL,
    strategy_id   text COLLATE "C" NOT NULL,
    learned_us    bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, lesson_id)
);
SELECT sidemirror.protect('sidemirror.memory_lessons');
CREATE INDEX memory_lessons_old ON sidemirror.memory_lessons (tenant_id, project_id, learned_us);

-- What became of the tasks that receipts were issued for.
CREATE TABLE sidemirror.memory_outcomes (
    tenant_id      text COLLATE "C" NOT NULL,
    project_id     text COLLATE "C" NOT NULL,
    receipt_id     text COLLATE "C" NOT NULL,
    outcome        text COLLATE "C" NOT NULL,
    reported_us    bigint NOT NULL,
    score          double precision CHECK (score BETWEEN 0 AND 1),
    error_category text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, project_id, receipt_id)
);
SELECT sidemirror.protect('sidemirror.memory_outcomes');
