-- compatible: yes
-- Links of memories (memory/graph.py). Nodes are named by their keys: 'm:' and a memory's id, 't:' and a tool, 'c:' and an
-- error category, 's:' and an error signature, 'n:' and a name.

CREATE TABLE sidemirror.memory_links (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    source     text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    target     text COLLATE "C" NOT NULL,
    created_us bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, source, kind, target)
);
SELECT sidemirror.protect('sidemirror.memory_links');
-- What leads to a node, the newest last.
CREATE INDEX memory_links_to ON sidemirror.memory_links (tenant_id, project_id, target, kind, created_us, source);

CREATE FUNCTION sidemirror.unlink_memory() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    DELETE FROM sidemirror.memory_links
    WHERE tenant_id = OLD.tenant_id AND project_id = OLD.project_id AND source = 'm:' || OLD.memory_id;
    DELETE FROM sidemirror.memory_links
    WHERE tenant_id = OLD.tenant_id AND project_id = OLD.project_id AND target = 'm:' || OLD.memory_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER unlinked AFTER DELETE ON sidemirror.memories
FOR EACH ROW EXECUTE FUNCTION sidemirror.unlink_memory();
