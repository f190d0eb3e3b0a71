-- compatible: yes
-- What revisions changed, and what a confidence was before it was calibrated (critique/store.py). Critiques of before
-- have no model, and do not count.
ALTER TABLE sidemirror.critiques
ADD COLUMN model text COLLATE "C" NOT NULL DEFAULT '',
ADD COLUMN stated_ppm bigint CHECK (stated_ppm BETWEEN 0 AND 1000000),
ADD COLUMN revised_outcome text;

-- Outcomes of one model's verdicts, the newest first: everything that is counted.
CREATE INDEX critiques_reported ON sidemirror.critiques (tenant_id, project_id, provider, model, reported_us)
INCLUDE (stated_ppm, revise, outcome, revised_outcome)
WHERE reported_us IS NOT NULL;
