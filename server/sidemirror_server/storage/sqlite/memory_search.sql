-- The statements of storage/sqlite/memory_lookup.py and storage/sqlite/memory_search.py. :scope_no is the scope's number.
-- Facts come as (memory_id, importance, confidence, created_us).

-- name: scope
-- A scope's number and figures.
SELECT scope_no, memories, content_terms, tasks, task_terms
FROM memory_scopes
WHERE tenant_id = :tenant_id AND project_id = :project_id

-- name: having
-- In how many contents, and in how many tasks, a term of the index stands.
SELECT col, doc
FROM memory_vocabulary
WHERE term = :term

-- name: best_by_words
-- The words and facts of the memories that fit best, the best first. Of the newest :most that have one of the words the
-- :few that fit best whatever their length are weighed by it, and filtered. :words is as FTS5 asks; :mean_terms: how long
-- a memory's texts are on average. :states and :labels are JSON lists; no labels let everything through.
SELECT memories.content_terms, memories.task_terms,
       best.memory_id, best.importance, best.confidence, best.created_us
FROM (
    SELECT facts.row_id, facts.memory_id, facts.importance, facts.confidence, facts.created_us,
           found.misfit / (1.44 * :mean_terms + facts.terms) AS misfit  -- with the constants of bm25.py
    FROM (
        SELECT row_id, misfit
        FROM (
            SELECT rowid AS row_id, bm25(memory_words) AS misfit
            FROM memory_words
            WHERE memory_words MATCH :words
            ORDER BY rowid DESC
            LIMIT :most
        )
        ORDER BY misfit, row_id DESC
        LIMIT :few
    ) AS found
    CROSS JOIN memory_facts AS facts ON facts.row_id = found.row_id
    WHERE facts.scope_no = :scope_no AND facts.importance >= :min_importance
      AND (:kind IS NULL OR facts.kind = :kind) AND facts.state IN (SELECT value FROM json_each(:states))
      AND (:labels = '[]' OR EXISTS (
          SELECT 1
          FROM json_each(:labels) AS label
          CROSS JOIN memory_labels
              ON memory_labels.scope_no = :scope_no AND memory_labels.label = label.value
                 AND memory_labels.row_id = facts.row_id
      ))
    ORDER BY misfit, facts.row_id DESC
    LIMIT :limit
) AS best
CROSS JOIN memories ON memories.row_id = best.row_id

-- name: facts_of
-- Those of these rows that a filter lets through and that have a vector of the model, with their facts. As above.
SELECT facts.row_id, facts.memory_id, facts.importance, facts.confidence, facts.created_us
FROM json_each(:rows) AS wanted
CROSS JOIN memory_facts AS facts ON facts.row_id = wanted.value
WHERE facts.embedded_by = :model_no AND facts.scope_no = :scope_no AND facts.importance >= :min_importance
  AND (:kind IS NULL OR facts.kind = :kind) AND facts.state IN (SELECT value FROM json_each(:states))
  AND (:labels = '[]' OR EXISTS (
      SELECT 1
      FROM json_each(:labels) AS label
      CROSS JOIN memory_labels
          ON memory_labels.scope_no = :scope_no AND memory_labels.label = label.value
             AND memory_labels.row_id = facts.row_id
  ))

-- name: vectors_of
-- The vectors of those of these rows that a filter lets through, as they are now, with their facts. As above.
SELECT vectors.vector, facts.memory_id, facts.importance, facts.confidence, facts.created_us
FROM json_each(:rows) AS wanted
CROSS JOIN memory_facts AS facts ON facts.row_id = wanted.value
CROSS JOIN memory_vectors AS vectors ON vectors.row_id = facts.row_id
WHERE vectors.model_no = :model_no AND facts.scope_no = :scope_no AND facts.importance >= :min_importance
  AND (:kind IS NULL OR facts.kind = :kind) AND facts.state IN (SELECT value FROM json_each(:states))
  AND (:labels = '[]' OR EXISTS (
      SELECT 1
      FROM json_each(:labels) AS label
      CROSS JOIN memory_labels
          ON memory_labels.scope_no = :scope_no AND memory_labels.label = label.value
             AND memory_labels.row_id = facts.row_id
  ))

-- name: best
-- Facts of the memories in one state, the most important first, then the newest.
SELECT facts.memory_id, facts.importance, facts.confidence, facts.created_us
FROM memory_facts AS facts INDEXED BY memory_facts_best
WHERE facts.scope_no = :scope_no AND facts.state = :state AND facts.importance >= :min_importance
  AND (:kind IS NULL OR facts.kind = :kind)
ORDER BY facts.importance DESC, facts.created_us DESC, facts.row_id DESC
LIMIT :limit

-- name: newest
-- Facts of the memories in one state, the newest first.
SELECT memory_id, importance, confidence, created_us
FROM memories INDEXED BY memories_in_state
WHERE tenant_id = :tenant_id AND project_id = :project_id AND state = :state AND importance >= :min_importance
  AND (:kind IS NULL OR kind = :kind)
ORDER BY created_us DESC, memory_id DESC
LIMIT :limit

-- name: labelled
-- Facts of the memories that have one of the labels and pass the filter, the most important first, then the newest.
-- :labels, :tags and :states are JSON lists; no tags let everything through.
SELECT DISTINCT facts.memory_id, facts.importance, facts.confidence, facts.created_us
FROM json_each(:labels) AS label
CROSS JOIN memory_labels AS labelled ON labelled.scope_no = :scope_no AND labelled.label = label.value
CROSS JOIN memory_facts AS facts ON facts.row_id = labelled.row_id
WHERE facts.importance >= :min_importance
  AND (:kind IS NULL OR facts.kind = :kind) AND facts.state IN (SELECT value FROM json_each(:states))
  AND (:tags = '[]' OR EXISTS (
      SELECT 1
      FROM json_each(:tags) AS tag
      CROSS JOIN memory_labels AS tagged
          ON tagged.scope_no = :scope_no AND tagged.label = tag.value AND tagged.row_id = facts.row_id
  ))
ORDER BY facts.importance DESC, facts.created_us DESC, facts.row_id DESC
LIMIT :limit

-- name: labelled_newest
-- Facts of the memories that have one of the labels and pass the filter, the newest first.
-- :labels, :tags and :states are JSON lists; no tags let everything through.
SELECT DISTINCT facts.memory_id, facts.importance, facts.confidence, facts.created_us
FROM json_each(:labels) AS label
CROSS JOIN memory_labels AS labelled ON labelled.scope_no = :scope_no AND labelled.label = label.value
CROSS JOIN memory_facts AS facts ON facts.row_id = labelled.row_id
WHERE facts.importance >= :min_importance
  AND (:kind IS NULL OR facts.kind = :kind) AND facts.state IN (SELECT value FROM json_each(:states))
  AND (:tags = '[]' OR EXISTS (
      SELECT 1
      FROM json_each(:tags) AS tag
      CROSS JOIN memory_labels AS tagged
          ON tagged.scope_no = :scope_no AND tagged.label = tag.value AND tagged.row_id = facts.row_id
  ))
ORDER BY facts.created_us DESC, facts.memory_id DESC
LIMIT :limit

-- name: terms_in
-- The words of these memories. :memory_ids is a JSON list.
SELECT memories.memory_id, memories.content_terms, memories.task_terms
FROM json_each(:memory_ids) AS wanted
CROSS JOIN memories
    ON memories.tenant_id = :tenant_id AND memories.project_id = :project_id AND memories.memory_id = wanted.value

-- name: model
-- A model's number.
SELECT model_no FROM memory_models WHERE name = :name

-- name: add_model
-- Gives a model a number.
INSERT INTO memory_models (name) VALUES (:name) ON CONFLICT (name) DO NOTHING

-- name: without_vector
-- How many of a scope's memories have no vector of the model. Mostly few: those that have one are not counted.
SELECT (SELECT count(*) FROM memory_facts INDEXED BY memory_facts_embedded
        WHERE scope_no = :scope_no AND embedded_by < :model_no)
     + (SELECT count(*) FROM memory_facts INDEXED BY memory_facts_embedded
        WHERE scope_no = :scope_no AND embedded_by > :model_no)

-- name: unembedded_before
-- Memories without a vector of the model: those with none, or with one of a model that has a lower number.
SELECT memories.memory_id, memories.content, memories.task_text
FROM memory_facts AS facts INDEXED BY memory_facts_embedded
CROSS JOIN memories ON memories.row_id = facts.row_id
WHERE facts.scope_no = :scope_no AND facts.embedded_by < :model_no
LIMIT :limit

-- name: unembedded_after
-- The same: those with a vector of a model that has a higher number.
SELECT memories.memory_id, memories.content, memories.task_text
FROM memory_facts AS facts INDEXED BY memory_facts_embedded
CROSS JOIN memories ON memories.row_id = facts.row_id
WHERE facts.scope_no = :scope_no AND facts.embedded_by > :model_no
LIMIT :limit

-- name: keep_vector
-- Keeps the vector of a memory that still has this content, in place of an earlier one, and with a number above all.
INSERT OR REPLACE INTO memory_vectors (row_id, scope_no, model_no, vector)
SELECT row_id, :scope_no, :model_no, :vector
FROM memories
WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :memory_id AND content = :content

-- name: mark_embedded
-- Such a memory has a vector of the model.
UPDATE memory_facts SET embedded_by = :model_no
WHERE row_id = (
    SELECT row_id
    FROM memories
    WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :memory_id AND content = :content
)

-- name: vectors_after
-- Vectors of a model that were kept after another one, in that order.
SELECT vector_no, row_id, vector
FROM memory_vectors INDEXED BY memory_vectors_of
WHERE scope_no = :scope_no AND model_no = :model_no AND vector_no > :vector_no
ORDER BY vector_no
LIMIT :limit
