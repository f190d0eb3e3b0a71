-- Links of memories (memory/graph.py). Nodes are named by their keys: 'm:' and a memory's id, 't:' and a tool, 'c:' and an
-- error category, 's:' and an error signature, 'n:' and a name.

CREATE TABLE memory_links (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    source     TEXT NOT NULL,
    kind       TEXT NOT NULL,
    target     TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, project_id, source, kind, target)
) STRICT, WITHOUT ROWID;
-- What leads to a node, the newest last.
CREATE INDEX memory_links_to ON memory_links (tenant_id, project_id, target, kind, created_us, source);

CREATE TRIGGER memory_is_unlinked AFTER DELETE ON memories
BEGIN
    DELETE FROM memory_links
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND source = 'm:' || old.memory_id;
    DELETE FROM memory_links
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND target = 'm:' || old.memory_id;
END;
