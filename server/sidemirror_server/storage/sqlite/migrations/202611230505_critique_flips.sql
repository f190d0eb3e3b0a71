-- What revisions changed, and what a confidence was before it was calibrated (critique/store.py). Critiques of before
-- have no model, and do not count.
ALTER TABLE critiques ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE critiques ADD COLUMN stated_ppm INTEGER CHECK (stated_ppm BETWEEN 0 AND 1000000);
ALTER TABLE critiques ADD COLUMN revised_outcome TEXT;

-- Outcomes of one model's verdicts, the newest first: everything that is counted.
CREATE INDEX critiques_reported
    ON critiques (tenant_id, project_id, provider, model, reported_us, stated_ppm, revise, outcome, revised_outcome)
    WHERE reported_us IS NOT NULL;
