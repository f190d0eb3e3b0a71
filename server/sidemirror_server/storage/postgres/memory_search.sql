-- The statements of storage/postgres/memory_search.py. $1 and $2 are the tenant and the project. The facts of a memory
-- are (memory_id, importance, confidence, created_us). A filter is four values: least importance, kind (NULL: any),
-- states, labels (empty: any).

-- name: figures
-- Four counts of a scope: memories, terms of their contents, memories with a task, terms of those tasks.
SELECT coalesce(sum(memories), 0)::bigint, coalesce(sum(content_terms), 0)::bigint,
       coalesce(sum(tasks), 0)::bigint, coalesce(sum(task_terms), 0)::bigint
FROM sidemirror.memory_figures
WHERE tenant_id = $1 AND project_id = $2

-- name: having
-- For each of the terms $3, the number of contents and the number of tasks that have it; counts stop at $4.
SELECT asked.term, side.in_task, counted.many
FROM unnest($3::text[]) AS asked (term)
CROSS JOIN (VALUES (false), (true)) AS side (in_task)
CROSS JOIN LATERAL (
    SELECT count(*) AS many
    FROM (
        SELECT 1
        FROM sidemirror.memory_terms AS known
        WHERE known.tenant_id = $1 AND known.project_id = $2 AND known.term = asked.term
              AND known.in_task = side.in_task
        LIMIT $4
    ) AS found
) AS counted
WHERE counted.many > 0

-- name: by_text
-- The best matches by words: facts, score of the content, score of the task, and the terms of both if $15. $3, $4, $5:
-- terms, whether each is of a task, and weights. $6, $7: mean lengths of contents and tasks. $8, $9: bm25.SATURATION and
-- LENGTH_WEIGHT. $10: limit. $11 to $14: a filter.
WITH scored AS MATERIALIZED (
    SELECT known.memory_id,
           coalesce(sum(part.score) FILTER (WHERE NOT known.in_task), 0) AS content_score,
           coalesce(sum(part.score) FILTER (WHERE known.in_task), 0) AS task_score
    FROM unnest($3::text[], $4::boolean[], $5::double precision[]) AS asked (term, in_task, counts)
    JOIN sidemirror.memory_terms AS known
        ON known.tenant_id = $1 AND known.project_id = $2 AND known.term = asked.term
           AND known.in_task = asked.in_task
    CROSS JOIN LATERAL (
        SELECT asked.counts * known.times * ($8::double precision + 1)
               / (known.times + $8::double precision
                  * (1 - $9::double precision + $9::double precision * known.terms
                     / CASE WHEN known.in_task THEN $7::double precision ELSE $6::double precision END)) AS score
    ) AS part
    GROUP BY known.memory_id
)
SELECT memory.memory_id, memory.importance, memory.confidence, memory.created_us, scored.content_score, scored.task_score,
       CASE WHEN $15::boolean THEN trim(memory.content_terms || ' ' || memory.task_terms) END
FROM scored
JOIN sidemirror.memories AS memory
    ON memory.tenant_id = $1 AND memory.project_id = $2 AND memory.memory_id = scored.memory_id
WHERE memory.importance >= $11 AND ($12::text IS NULL OR memory.kind = $12) AND memory.state = ANY($13::text[])
      AND (cardinality($14::text[]) = 0 OR EXISTS (
          SELECT 1
          FROM sidemirror.memory_labels AS label
          WHERE label.tenant_id = $1 AND label.project_id = $2 AND label.label = ANY($14)
                AND label.memory_id = memory.memory_id
      ))
ORDER BY scored.content_score + scored.task_score DESC, memory.created_us DESC, memory.memory_id
LIMIT $10

-- name: best
-- Facts of the memories in one of the states, most important first, then newest. $3: limit, $4 to $7: a filter.
SELECT memory.memory_id, memory.importance, memory.confidence, memory.created_us
FROM unnest($6::text[]) AS wanted (state)
CROSS JOIN LATERAL (
    SELECT *
    FROM sidemirror.memories AS known
    WHERE known.tenant_id = $1 AND known.project_id = $2 AND known.state = wanted.state AND known.importance >= $4
          AND ($5::text IS NULL OR known.kind = $5)
          AND (cardinality($7::text[]) = 0 OR EXISTS (
              SELECT 1
              FROM sidemirror.memory_labels AS label
              WHERE label.tenant_id = $1 AND label.project_id = $2 AND label.label = ANY($7)
                    AND label.memory_id = known.memory_id
          ))
    ORDER BY known.importance DESC, known.created_us DESC
    LIMIT $3
) AS memory
ORDER BY memory.importance DESC, memory.created_us DESC, memory.memory_id
LIMIT $3

-- name: newest
-- Facts of the memories in one of the states, newest first. $3: limit, $4 to $7: a filter.
SELECT memory.memory_id, memory.importance, memory.confidence, memory.created_us
FROM unnest($6::text[]) AS wanted (state)
CROSS JOIN LATERAL (
    SELECT *
    FROM sidemirror.memories AS known
    WHERE known.tenant_id = $1 AND known.project_id = $2 AND known.state = wanted.state AND known.importance >= $4
          AND ($5::text IS NULL OR known.kind = $5)
          AND (cardinality($7::text[]) = 0 OR EXISTS (
              SELECT 1
              FROM sidemirror.memory_labels AS label
              WHERE label.tenant_id = $1 AND label.project_id = $2 AND label.label = ANY($7)
                    AND label.memory_id = known.memory_id
          ))
    ORDER BY known.created_us DESC, known.memory_id DESC
    LIMIT $3
) AS memory
ORDER BY memory.created_us DESC, memory.memory_id DESC
LIMIT $3

-- name: labelled
-- Like `best`, for the memories with one of the labels $8.
SELECT memory.memory_id, memory.importance, memory.confidence, memory.created_us
FROM sidemirror.memories AS memory
WHERE memory.tenant_id = $1 AND memory.project_id = $2
      AND memory.memory_id IN (
          SELECT label.memory_id
          FROM sidemirror.memory_labels AS label
          WHERE label.tenant_id = $1 AND label.project_id = $2 AND label.label = ANY($8::text[])
      )
      AND memory.importance >= $4 AND ($5::text IS NULL OR memory.kind = $5) AND memory.state = ANY($6::text[])
      AND (cardinality($7::text[]) = 0 OR EXISTS (
          SELECT 1
          FROM sidemirror.memory_labels AS label
          WHERE label.tenant_id = $1 AND label.project_id = $2 AND label.label = ANY($7)
                AND label.memory_id = memory.memory_id
      ))
ORDER BY memory.importance DESC, memory.created_us DESC, memory.memory_id
LIMIT $3

-- name: terms_in
-- The terms of the memories $3.
SELECT memory_id, content_terms, task_terms
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = ANY($3::text[])

-- name: embedded
-- The number of memories with a vector of model $3, and whether pgvector is installed.
SELECT count(*), to_regtype('vector') IS NOT NULL
FROM sidemirror.memory_vectors
WHERE tenant_id = $1 AND project_id = $2 AND model = $3

-- name: nearest_exactly
-- Facts and similarities of the memories that pass the filter; every vector is compared. $3: model, $4: vector, $5:
-- limit, $6 to $9: a filter.
SELECT memory.memory_id, memory.importance, memory.confidence, memory.created_us, -(known.embedding::vector <#> $4::real[]::vector)
FROM sidemirror.memory_vectors AS known
JOIN sidemirror.memories AS memory
    ON memory.tenant_id = $1 AND memory.project_id = $2 AND memory.memory_id = known.memory_id
WHERE known.tenant_id = $1 AND known.project_id = $2 AND known.model = $3
      AND cardinality(known.embedding) = cardinality($4::real[])
      AND memory.importance >= $6 AND ($7::text IS NULL OR memory.kind = $7) AND memory.state = ANY($8::text[])
      AND (cardinality($9::text[]) = 0 OR EXISTS (
          SELECT 1
          FROM sidemirror.memory_labels AS label
          WHERE label.tenant_id = $1 AND label.project_id = $2 AND label.label = ANY($9)
                AND label.memory_id = memory.memory_id
      ))
ORDER BY known.embedding::vector <#> $4::real[]::vector, memory.created_us DESC, memory.memory_id
LIMIT $5

-- name: nearest_plainly
-- Like `nearest_exactly`, without pgvector.
SELECT memory.memory_id, memory.importance, memory.confidence, memory.created_us, sidemirror.inner_product(known.embedding, $4)
FROM sidemirror.memory_vectors AS known
JOIN sidemirror.memories AS memory
    ON memory.tenant_id = $1 AND memory.project_id = $2 AND memory.memory_id = known.memory_id
WHERE known.tenant_id = $1 AND known.project_id = $2 AND known.model = $3
      AND cardinality(known.embedding) = cardinality($4::real[])
      AND memory.importance >= $6 AND ($7::text IS NULL OR memory.kind = $7) AND memory.state = ANY($8::text[])
      AND (cardinality($9::text[]) = 0 OR EXISTS (
          SELECT 1
          FROM sidemirror.memory_labels AS label
          WHERE label.tenant_id = $1 AND label.project_id = $2 AND label.label = ANY($9)
                AND label.memory_id = memory.memory_id
      ))
ORDER BY 5 DESC, memory.created_us DESC, memory.memory_id
LIMIT $5

-- name: nearest_256
-- Like `nearest_exactly`, for 256 dimensions, by the index.
SELECT memory.memory_id, memory.importance, memory.confidence, memory.created_us,
       -(known.embedding::vector(256) <#> $4::real[]::vector(256))
FROM sidemirror.memory_vectors AS known
JOIN sidemirror.memories AS memory
    ON memory.tenant_id = $1 AND memory.project_id = $2 AND memory.memory_id = known.memory_id
WHERE known.tenant_id = $1 AND known.project_id = $2 AND known.model = $3 AND cardinality(known.embedding) = 256
      AND memory.importance >= $6 AND ($7::text IS NULL OR memory.kind = $7) AND memory.state = ANY($8::text[])
      AND (cardinality($9::text[]) = 0 OR EXISTS (
          SELECT 1
          FROM sidemirror.memory_labels AS label
          WHERE label.tenant_id = $1 AND label.project_id = $2 AND label.label = ANY($9)
                AND label.memory_id = memory.memory_id
      ))
ORDER BY known.embedding::vector(256) <#> $4::real[]::vector(256)
LIMIT $5

-- name: nearest_384
-- Like `nearest_exactly`, for 384 dimensions, by the index.
SELECT memory.memory_id, memory.importance, memory.confidence, memory.created_us,
       -(known.embedding::vector(384) <#> $4::real[]::vector(384))
FROM sidemirror.memory_vectors AS known
JOIN sidemirror.memories AS memory
    ON memory.tenant_id = $1 AND memory.project_id = $2 AND memory.memory_id = known.memory_id
WHERE known.tenant_id = $1 AND known.project_id = $2 AND known.model = $3 AND cardinality(known.embedding) = 384
      AND memory.importance >= $6 AND ($7::text IS NULL OR memory.kind = $7) AND memory.state = ANY($8::text[])
      AND (cardinality($9::text[]) = 0 OR EXISTS (
          SELECT 1
          FROM sidemirror.memory_labels AS label
          WHERE label.tenant_id = $1 AND label.project_id = $2 AND label.label = ANY($9)
                AND label.memory_id = memory.memory_id
      ))
ORDER BY known.embedding::vector(384) <#> $4::real[]::vector(384)
LIMIT $5

-- name: nearest_512
-- Like `nearest_exactly`, for 512 dimensions, by the index.
SELECT memory.memory_id, memory.importance, memory.confidence, memory.created_us,
       -(known.embedding::vector(512) <#> $4::real[]::vector(512))
FROM sidemirror.memory_vectors AS known
JOIN sidemirror.memories AS memory
    ON memory.tenant_id = $1 AND memory.project_id = $2 AND memory.memory_id = known.memory_id
WHERE known.tenant_id = $1 AND known.project_id = $2 AND known.model = $3 AND cardinality(known.embedding) = 512
      AND memory.importance >= $6 AND ($7::text IS NULL OR memory.kind = $7) AND memory.state = ANY($8::text[])
      AND (cardinality($9::text[]) = 0 OR EXISTS (
          SELECT 1
          FROM sidemirror.memory_labels AS label
          WHERE label.tenant_id = $1 AND label.project_id = $2 AND label.label = ANY($9)
                AND label.memory_id = memory.memory_id
      ))
ORDER BY known.embedding::vector(512) <#> $4::real[]::vector(512)
LIMIT $5

-- name: nearest_768
-- Like `nearest_exactly`, for 768 dimensions, by the index.
SELECT memory.memory_id, memory.importance, memory.confidence, memory.created_us,
       -(known.embedding::vector(768) <#> $4::real[]::vector(768))
FROM sidemirror.memory_vectors AS known
JOIN sidemirror.memories AS memory
    ON memory.tenant_id = $1 AND memory.project_id = $2 AND memory.memory_id = known.memory_id
WHERE known.tenant_id = $1 AND known.project_id = $2 AND known.model = $3 AND cardinality(known.embedding) = 768
      AND memory.importance >= $6 AND ($7::text IS NULL OR memory.kind = $7) AND memory.state = ANY($8::text[])
      AND (cardinality($9::text[]) = 0 OR EXISTS (
          SELECT 1
          FROM sidemirror.memory_labels AS label
          WHERE label.tenant_id = $1 AND label.project_id = $2 AND label.label = ANY($9)
                AND label.memory_id = memory.memory_id
      ))
ORDER BY known.embedding::vector(768) <#> $4::real[]::vector(768)
LIMIT $5

-- name: nearest_1024
-- Like `nearest_exactly`, for 1024 dimensions, by the index.
SELECT memory.memory_id, memory.importance, memory.confidence, memory.created_us,
       -(known.embedding::vector(1024) <#> $4::real[]::vector(1024))
FROM sidemirror.memory_vectors AS known
JOIN sidemirror.memories AS memory
    ON memory.tenant_id = $1 AND memory.project_id = $2 AND memory.memory_id = known.memory_id
WHERE known.tenant_id = $1 AND known.project_id = $2 AND known.model = $3 AND cardinality(known.embedding) = 1024
      AND memory.importance >= $6 AND ($7::text IS NULL OR memory.kind = $7) AND memory.state = ANY($8::text[])
      AND (cardinality($9::text[]) = 0 OR EXISTS (
          SELECT 1
          FROM sidemirror.memory_labels AS label
          WHERE label.tenant_id = $1 AND label.project_id = $2 AND label.label = ANY($9)
                AND label.memory_id = memory.memory_id
      ))
ORDER BY known.embedding::vector(1024) <#> $4::real[]::vector(1024)
LIMIT $5

-- name: nearest_1536
-- Like `nearest_exactly`, for 1536 dimensions, by the index.
SELECT memory.memory_id, memory.importance, memory.confidence, memory.created_us,
       -(known.embedding::vector(1536) <#> $4::real[]::vector(1536))
FROM sidemirror.memory_vectors AS known
JOIN sidemirror.memories AS memory
    ON memory.tenant_id = $1 AND memory.project_id = $2 AND memory.memory_id = known.memory_id
WHERE known.tenant_id = $1 AND known.project_id = $2 AND known.model = $3 AND cardinality(known.embedding) = 1536
      AND memory.importance >= $6 AND ($7::text IS NULL OR memory.kind = $7) AND memory.state = ANY($8::text[])
      AND (cardinality($9::text[]) = 0 OR EXISTS (
          SELECT 1
          FROM sidemirror.memory_labels AS label
          WHERE label.tenant_id = $1 AND label.project_id = $2 AND label.label = ANY($9)
                AND label.memory_id = memory.memory_id
      ))
ORDER BY known.embedding::vector(1536) <#> $4::real[]::vector(1536)
LIMIT $5

-- name: search_widely
-- Lets a scan of the index, which all scopes share, continue until it has found enough rows of this scope.
SET LOCAL hnsw.iterative_scan = strict_order

-- name: search_deeply
-- The number of neighbours that the index looks at first. The recall of the first ten is at least 0.99 with 200.
SET LOCAL hnsw.ef_search = 200

-- name: unembedded
-- Memories without a vector of model $3, at most $4.
SELECT memory.memory_id, memory.content, memory.task_text
FROM sidemirror.memories AS memory
WHERE memory.tenant_id = $1 AND memory.project_id = $2
      AND NOT EXISTS (
          SELECT 1
          FROM sidemirror.memory_vectors AS known
          WHERE known.tenant_id = $1 AND known.project_id = $2 AND known.memory_id = memory.memory_id
                AND known.model = $3
      )
LIMIT $4

-- name: embed
-- Stores vectors $4 of model $3 for the memories in $5 that still have the contents $6.
INSERT INTO sidemirror.memory_vectors (tenant_id, project_id, memory_id, model, embedding)
SELECT $1, $2, memory.memory_id, $3, made.embedding::real[]
FROM unnest($4::text[], $5::text[], $6::text[]) AS made (embedding, memory_id, content)
JOIN sidemirror.memories AS memory
    ON memory.tenant_id = $1 AND memory.project_id = $2 AND memory.memory_id = made.memory_id
       AND memory.content = made.content
ORDER BY memory.memory_id
FOR SHARE OF memory
ON CONFLICT (tenant_id, project_id, memory_id) DO UPDATE SET model = excluded.model, embedding = excluded.embedding

-- name: take
-- Gives holder $4 the lease on embedding with model $3 until $6. No row if another holder's lease lasts beyond $5.
INSERT INTO sidemirror.memory_embedders AS known (tenant_id, project_id, model, holder, until_us)
VALUES ($1, $2, $3, $4, $6)
ON CONFLICT (tenant_id, project_id, model) DO UPDATE SET holder = excluded.holder, until_us = excluded.until_us
WHERE known.holder = $4 OR known.until_us <= $5
RETURNING true

-- name: leave
-- Releases the lease.
DELETE FROM sidemirror.memory_embedders
WHERE tenant_id = $1 AND project_id = $2 AND model = $3 AND holder = $4
