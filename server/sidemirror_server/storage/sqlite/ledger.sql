-- The statements of storage/sqlite/ledger.py.

-- name: used
-- The amount that counts against a cap: settled and reserved.
SELECT settled_tokens + reserved_tokens, settled_nano_usd + reserved_nano_usd
FROM ledger_totals
WHERE tenant_id = :tenant_id AND project_id = :project_id AND day = :day AND purpose = :purpose

-- name: take
-- Adds a call and its reservation to a day's total.
INSERT INTO ledger_totals (tenant_id, project_id, day, purpose, calls, settled_tokens, settled_nano_usd,
                           reserved_tokens, reserved_nano_usd)
VALUES (:tenant_id, :project_id, :day, :purpose, 1, 0, 0, :tokens, :nano_usd)
ON CONFLICT (tenant_id, project_id, day, purpose) DO UPDATE
SET calls = calls + 1,
    reserved_tokens = reserved_tokens + excluded.reserved_tokens,
    reserved_nano_usd = reserved_nano_usd + excluded.reserved_nano_usd

-- name: note
-- Adds an open reservation.
INSERT INTO ledger_reservations
VALUES (:tenant_id, :project_id, :reservation_id, :day, :purpose, :tokens, :nano_usd, :lease_until_us)

-- name: strike
-- Removes a reservation that is settled. No change if it was settled before.
DELETE FROM ledger_reservations
WHERE tenant_id = :tenant_id AND project_id = :project_id AND reservation_id = :reservation_id

-- name: replace
-- Replaces a reserved amount by the actual one, or by an estimate of it, in a day's total.
UPDATE ledger_totals
SET settled_tokens = settled_tokens + :actual_tokens,
    settled_nano_usd = settled_nano_usd + :actual_nano_usd,
    reserved_tokens = reserved_tokens - :tokens,
    reserved_nano_usd = reserved_nano_usd - :nano_usd,
    unanswered_calls = unanswered_calls + :is_estimate,
    estimated_tokens = estimated_tokens + :is_estimate * :actual_tokens,
    estimated_nano_usd = estimated_nano_usd + :is_estimate * :actual_nano_usd
WHERE tenant_id = :tenant_id AND project_id = :project_id AND day = :day AND purpose = :purpose

-- name: spent
-- The totals of a scope by day and purpose. Each row also has the part reserved under leases that have run out.
SELECT day, purpose, calls, settled_tokens, settled_nano_usd, reserved_tokens, reserved_nano_usd,
       (SELECT coalesce(sum(tokens), 0) FROM ledger_reservations AS open
        WHERE open.tenant_id = :tenant_id AND open.project_id = :project_id AND open.day = totals.day
              AND open.purpose = totals.purpose AND open.lease_until_us <= :now_us),
       (SELECT coalesce(sum(nano_usd), 0) FROM ledger_reservations AS open
        WHERE open.tenant_id = :tenant_id AND open.project_id = :project_id AND open.day = totals.day
              AND open.purpose = totals.purpose AND open.lease_until_us <= :now_us),
       unanswered_calls, estimated_tokens, estimated_nano_usd
FROM ledger_totals AS totals
WHERE tenant_id = :tenant_id AND project_id = :project_id AND day >= :first_day AND purpose > ''

-- name: costs
-- Across scopes: the sums of each scope over a span of days, in the order of the scopes, for one entry of `Serves`; and
-- what counts today.
SELECT spanned.*, today.settled_tokens + today.reserved_tokens, today.settled_nano_usd + today.reserved_nano_usd
FROM (SELECT tenant_id, project_id, sum(calls), sum(settled_tokens), sum(settled_nano_usd), sum(reserved_tokens),
             sum(reserved_nano_usd), sum(unanswered_calls), sum(estimated_tokens), sum(estimated_nano_usd)
      FROM ledger_totals
      WHERE project_id > '' AND purpose > '' AND day BETWEEN :first_day AND :last_day
            AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
      GROUP BY tenant_id, project_id
      ORDER BY tenant_id, project_id
      LIMIT :limit) AS spanned
LEFT JOIN ledger_totals AS today
     ON (today.tenant_id, today.project_id, today.day, today.purpose) = (spanned.tenant_id, spanned.project_id, :today, '')

-- name: forget
-- Across scopes: removes totals from before a day, oldest first.
DELETE FROM ledger_totals
WHERE rowid IN (SELECT rowid FROM ledger_totals
                WHERE project_id > '' AND purpose > '' AND day < :before_day
                      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
                      AND NOT EXISTS (SELECT 1 FROM json_each(:but) AS but
                                      WHERE but.value ->> 0 = tenant_id AND coalesce(but.value ->> 1, project_id) = project_id)
                ORDER BY day LIMIT :limit)

-- name: forget_sums
-- Removes the sums of days that no longer have totals of what they sum up: a project, a tenant, or everybody.
DELETE FROM ledger_totals
WHERE (project_id = '' OR purpose = '') AND day < :before_day
  AND NOT EXISTS (SELECT 1 FROM ledger_totals AS own
                  WHERE own.project_id > '' AND own.purpose > '' AND own.day = ledger_totals.day
                        AND ledger_totals.tenant_id IN ('', own.tenant_id)
                        AND ledger_totals.project_id IN ('', own.project_id))

-- name: forget_reservations
-- Removes open reservations of days that no longer have totals of their project.
DELETE FROM ledger_reservations
WHERE day < :before_day
  AND NOT EXISTS (SELECT 1 FROM ledger_totals AS own
                  WHERE own.tenant_id = ledger_reservations.tenant_id
                        AND own.project_id = ledger_reservations.project_id
                        AND own.day = ledger_reservations.day AND own.purpose > '')
