-- How far a scope's log has holes, since turns are removed (memory/pruning.py): NULL where no turns were.

ALTER TABLE pruning_log ADD COLUMN last_position INTEGER;
CREATE INDEX pruning_log_positions ON pruning_log (tenant_id, project_id, last_position) WHERE last_position IS NOT NULL;
