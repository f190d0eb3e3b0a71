-- compatible: yes
-- How far a scope's log has holes, since turns are removed (memory/pruning.py): NULL where no turns were.

ALTER TABLE sidemirror.pruning_log ADD COLUMN last_position bigint;
CREATE INDEX pruning_log_positions ON sidemirror.pruning_log (tenant_id, project_id, last_position)
WHERE last_position IS NOT NULL;
