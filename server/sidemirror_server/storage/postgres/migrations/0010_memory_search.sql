-- compatible: yes
-- Finding memories (memory/search.py): what is looked up, kept in step with `memories` by a trigger.

-- What a scope's full text comes to: how many memories, how many of them name a task, and the terms of all. In parts, so
-- that those who write at the same time do not wait for each other; a part may be negative, their sum is not.
CREATE TABLE sidemirror.memory_figures (
    tenant_id     text COLLATE "C" NOT NULL,
    project_id    text COLLATE "C" NOT NULL,
    part          smallint NOT NULL,
    memories      bigint NOT NULL,
    tasks         bigint NOT NULL,
    content_terms bigint NOT NULL,
    task_terms    bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, part)
);
SELECT sidemirror.protect('sidemirror.memory_figures');

-- Which memories have a term (memory/terms.py), how often, and how many terms that text has.
CREATE TABLE sidemirror.memory_terms (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    term       text COLLATE "C" NOT NULL,
    in_task    boolean NOT NULL,
    memory_id  text COLLATE "C" NOT NULL,
    times      integer NOT NULL,
    terms      integer NOT NULL,
    PRIMARY KEY (tenant_id, project_id, term, in_task, memory_id) INCLUDE (times, terms)
);
SELECT sidemirror.protect('sidemirror.memory_terms');
CREATE INDEX memory_terms_of ON sidemirror.memory_terms (tenant_id, project_id, memory_id);

-- 'g:' and a tag, 't:' and a tool, 'c:' and an error category that a memory applies to.
CREATE TABLE sidemirror.memory_labels (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    label      text COLLATE "C" NOT NULL,
    memory_id  text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, project_id, label, memory_id)
);
SELECT sidemirror.protect('sidemirror.memory_labels');
CREATE INDEX memory_labels_of ON sidemirror.memory_labels (tenant_id, project_id, memory_id);

-- Vectors of length 1, one for a memory at most. `model`: the embedding model that made it.
CREATE TABLE sidemirror.memory_vectors (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    memory_id  text COLLATE "C" NOT NULL,
    model      text COLLATE "C" NOT NULL,
    embedding  real[] NOT NULL,
    PRIMARY KEY (tenant_id, project_id, memory_id)
);
SELECT sidemirror.protect('sidemirror.memory_vectors');
CREATE INDEX memory_vectors_of ON sidemirror.memory_vectors (tenant_id, project_id, model, memory_id);

-- What pgvector is not there for, or before it is installed (in most places only a superuser may).
CREATE FUNCTION sidemirror.inner_product(a real[], b real[]) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog
AS $$ SELECT sum(x::double precision * y) FROM unnest(a, b) AS pairs (x, y) $$;

-- Large scopes are searched by an index of pgvector, of whatever model; other dimensions are compared one by one.
DO $$
DECLARE
    dimensions integer;
BEGIN
    BEGIN
        CREATE EXTENSION IF NOT EXISTS vector;
    EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
        RAISE NOTICE 'pgvector is not installed: vectors are compared one by one';
    END;
    IF to_regtype('vector') IS NOT NULL THEN
        FOREACH dimensions IN ARRAY ARRAY[256, 384, 512, 768, 1024, 1536] LOOP
            EXECUTE format(
                'CREATE INDEX memory_vectors_%1$s ON sidemirror.memory_vectors'
                ' USING hnsw ((embedding::vector(%1$s)) vector_ip_ops) WHERE cardinality(embedding) = %1$s', dimensions);
        END LOOP;
    END IF;
END
$$;

-- Without a text: the most important first, then the newest.
CREATE INDEX memories_best ON sidemirror.memories (tenant_id, project_id, state, importance DESC, created_us DESC);

CREATE FUNCTION sidemirror.count_of_terms(terms text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog
AS $$ SELECT CASE WHEN terms = '' THEN 0 ELSE length(terms) - length(replace(terms, ' ', '')) + 1 END $$;

-- Adds a memory to its scope's figures, or takes it out of them.
CREATE FUNCTION sidemirror.count_memory(memory sidemirror.memories, sign integer) RETURNS void LANGUAGE sql
SET search_path = pg_catalog
AS $$
    INSERT INTO sidemirror.memory_figures AS known
    VALUES (memory.tenant_id, memory.project_id, pg_backend_pid() % 16, sign, sign * (memory.task_terms <> '')::integer,
            sign * sidemirror.count_of_terms(memory.content_terms), sign * sidemirror.count_of_terms(memory.task_terms))
    ON CONFLICT (tenant_id, project_id, part)
    DO UPDATE SET memories = known.memories + excluded.memories, tasks = known.tasks + excluded.tasks,
                  content_terms = known.content_terms + excluded.content_terms,
                  task_terms = known.task_terms + excluded.task_terms
$$;

CREATE FUNCTION sidemirror.index_words(memory sidemirror.memories) RETURNS void LANGUAGE sql SET search_path = pg_catalog
AS $$
    INSERT INTO sidemirror.memory_terms (tenant_id, project_id, term, in_task, memory_id, times, terms)
    SELECT memory.tenant_id, memory.project_id, term, in_task, memory.memory_id, count(*),
           sidemirror.count_of_terms(CASE WHEN in_task THEN memory.task_terms ELSE memory.content_terms END)
    FROM (
        SELECT unnest(string_to_array(memory.content_terms, ' ')) AS term, false AS in_task
        UNION ALL
        SELECT unnest(string_to_array(memory.task_terms, ' ')), true
    ) AS words
    WHERE term <> ''
    GROUP BY term, in_task
$$;

CREATE FUNCTION sidemirror.index_labels(memory sidemirror.memories) RETURNS void LANGUAGE sql SET search_path = pg_catalog
AS $$
    INSERT INTO sidemirror.memory_labels (tenant_id, project_id, label, memory_id)
    SELECT DISTINCT memory.tenant_id, memory.project_id, label, memory.memory_id
    FROM (
        SELECT 'g:' || unnest(memory.tags) AS label
        UNION ALL
        SELECT 't:' || jsonb_array_elements_text(applies -> 'tools')
        FROM (SELECT convert_from(memory.body, 'UTF8')::jsonb -> 'applies_when' AS applies) AS told
        UNION ALL
        SELECT 'c:' || jsonb_array_elements_text(applies -> 'error_categories')
        FROM (SELECT convert_from(memory.body, 'UTF8')::jsonb -> 'applies_when' AS applies) AS told
        UNION ALL
        SELECT 'c:' || memory.error_category WHERE memory.error_category <> ''
    ) AS labels
$$;

CREATE FUNCTION sidemirror.keep_memory_search() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
    reworded boolean := TG_OP = 'UPDATE' AND (OLD.content_terms, OLD.content) IS DISTINCT FROM (NEW.content_terms, NEW.content);
BEGIN
    IF TG_OP = 'DELETE' OR reworded THEN
        PERFORM sidemirror.count_memory(OLD, -1);
        DELETE FROM sidemirror.memory_terms
        WHERE tenant_id = OLD.tenant_id AND project_id = OLD.project_id AND memory_id = OLD.memory_id;
        DELETE FROM sidemirror.memory_vectors
        WHERE tenant_id = OLD.tenant_id AND project_id = OLD.project_id AND memory_id = OLD.memory_id;
    END IF;
    IF TG_OP = 'INSERT' OR reworded THEN
        PERFORM sidemirror.count_memory(NEW, 1);
        PERFORM sidemirror.index_words(NEW);
    END IF;
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM sidemirror.memory_labels
        WHERE tenant_id = OLD.tenant_id AND project_id = OLD.project_id AND memory_id = OLD.memory_id;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM sidemirror.index_labels(NEW);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER searched AFTER INSERT OR UPDATE OR DELETE ON sidemirror.memories
FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_memory_search();
