-- compatible: yes
-- Who makes the vectors of a scope (memory/meanings.py), so that two sidecars do not pay for the same ones.

CREATE TABLE sidemirror.memory_embedders (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    model      text COLLATE "C" NOT NULL,
    holder     text COLLATE "C" NOT NULL,
    until_us   bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, model)
);
SELECT sidemirror.protect('sidemirror.memory_embedders');
