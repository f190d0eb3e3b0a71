-- The statements of storage/sqlite/memory_lookup.py and storage/sqlite/memory_search.py. :scope_no is the scope's
-- number. The facts of a memory are (memory_id, importance, confidence, created_us).

-- name: scope
-- The number and the counts of a scope.
SELECT scope_no, memories, content_terms, tasks, task_terms
FROM memory_scopes
WHERE tenant_id = :tenant_id AND project_id = :project_id

-- name: having
-- The number of contents and the number of tasks that have a term.
SELECT col, doc
FROM memory_vocabulary
WHERE term = :term

-- name: best_by_words
-- Terms and facts of the best matches, best first. Takes the newest :most memories with one of the words, corrects the
-- :few best by bm25 for text length, and filters them. :words is an FTS5 query; :mean_terms is the mean length of a
-- memory's texts. :states and :labels are JSON lists; an empty :labels does not filter.
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
-- The facts of each of these rows that has a vector of the model and passes the filter (as in `best_by_words`).
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
-- Like `facts_of`, with the current vector before the facts of each row.
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
-- Facts of the memories in one state, most important first, then newest.
SELECT facts.memory_id, facts.importance, facts.confidence, facts.created_us
FROM memory_facts AS facts INDEXED BY memory_facts_best
WHERE facts.scope_no = :scope_no AND facts.state = :state AND facts.importance >= :min_importance
  AND (:kind IS NULL OR facts.kind = :kind)
ORDER BY facts.importance DESC, facts.created_us DESC, facts.row_id DESC
LIMIT :limit

-- name: newest
-- Facts of the memories in one state, newest first.
SELECT memory_id, importance, confidence, created_us
FROM memories INDEXED BY memories_in_state
WHERE tenant_id = :tenant_id AND project_id = :project_id AND state = :state AND importance >= :min_importance
  AND (:kind IS NULL OR kind = :kind)
ORDER BY created_us DESC, memory_id DESC
LIMIT :limit

-- name: labelled
-- Facts of the memories that have one of the labels and pass the filter, most important first, then newest.
-- :labels, :tags and :states are JSON lists; an empty :tags does not filter.
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

-- name: have_label
-- How many memories have one of the labels, :limit at most; one with two labels counts twice. :labels is a JSON list.
SELECT count(*)
FROM (
    SELECT 1
    FROM json_each(:labels) AS label
    CROSS JOIN memory_labels AS labelled ON labelled.scope_no = :scope_no AND labelled.label = label.value
    LIMIT :limit
)

-- name: labelled_newest
-- Facts of the memories that have one of the labels and pass the filter, newest first.
-- :labels, :tags and :states are JSON lists; an empty :tags does not filter.
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
-- The terms of these memories. :memory_ids is a JSON list.
SELECT memories.memory_id, memories.content_terms, memories.task_terms
FROM json_each(:memory_ids) AS wanted
CROSS JOIN memories
    ON memories.tenant_id = :tenant_id AND memories.project_id = :project_id AND memories.memory_id = wanted.value

-- name: model
-- The number of a model.
SELECT model_no FROM memory_models WHERE name = :name

-- name: add_model
-- Adds a model, which gets a number.
INSERT INTO memory_models (name) VALUES (:name) ON CONFLICT (name) DO NOTHING

-- name: without_vector
-- The number of a scope's memories without a vector of the model. Counted directly, because there are usually few.
SELECT (SELECT count(*) FROM memory_facts INDEXED BY memory_facts_embedded
        WHERE scope_no = :scope_no AND embedded_by < :model_no)
     + (SELECT count(*) FROM memory_facts INDEXED BY memory_facts_embedded
        WHERE scope_no = :scope_no AND embedded_by > :model_no)

-- name: unembedded_before
-- Memories without a vector of the model: those without any, or with one of a model that has a lower number.
SELECT memories.memory_id, memories.content, memories.task_text
FROM memory_facts AS facts INDEXED BY memory_facts_embedded
CROSS JOIN memories ON memories.row_id = facts.row_id
WHERE facts.scope_no = :scope_no AND facts.embedded_by < :model_no
LIMIT :limit

-- name: unembedded_after
-- Memories without a vector of the model: those with one of a model that has a higher number.
SELECT memories.memory_id, memories.content, memories.task_text
FROM memory_facts AS facts INDEXED BY memory_facts_embedded
CROSS JOIN memories ON memories.row_id = facts.row_id
WHERE facts.scope_no = :scope_no AND facts.embedded_by > :model_no
LIMIT :limit

-- name: keep_vector
-- Stores or replaces the vector of a memory that still has this content. The new row gets the highest vector_no.
INSERT OR REPLACE INTO memory_vectors (row_id, scope_no, model_no, vector)
SELECT row_id, :scope_no, :model_no, :vector
FROM memories
WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :memory_id AND content = :content

-- name: mark_embedded
-- Records that a memory has a vector of the model, if it still has this content.
UPDATE memory_facts SET embedded_by = :model_no
WHERE row_id = (
    SELECT row_id
    FROM memories
    WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :memory_id AND content = :content
)

-- name: vectors_after
-- The vectors of a model that were stored after vector :vector_no, in that order.
SELECT vector_no, row_id, vector
FROM memory_vectors INDEXED BY memory_vectors_of
WHERE scope_no = :scope_no AND model_no = :model_no AND vector_no > :vector_no
ORDER BY vector_no
LIMIT :limit
