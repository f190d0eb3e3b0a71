-- The statements of storage/postgres/ledger.py. $1 and $2 are the tenant and the project, $3 the day, $4 the purpose.

-- name: used
-- The amounts that count against each cap, settled and reserved. A level without amounts has no row. The operator's
-- role counts the total and the purpose over all tenants; a tenant's role counts only its own tenant.
SELECT level, tokens, nano_usd
FROM (SELECT CASE WHEN sidemirror.is_operator() THEN '' ELSE $1 END AS everybody) AS counted,
     LATERAL (VALUES ('total', everybody, ''), ('purpose', everybody, $4), ('tenant', $1, ''), ('tenant_purpose', $1, $4))
         AS wanted (level, of, purpose)
JOIN sidemirror.ledger_envelopes AS sums ON (sums.tenant_id, sums.day, sums.purpose) = (wanted.of, $3, wanted.purpose)
UNION ALL
SELECT 'project', sum(settled_tokens + reserved_tokens)::bigint, sum(settled_nano_usd + reserved_nano_usd)::bigint
FROM sidemirror.ledger_totals
WHERE tenant_id = $1 AND project_id = $2 AND day = $3
HAVING count(*) > 0
UNION ALL
SELECT 'project_purpose', settled_tokens + reserved_tokens, settled_nano_usd + reserved_nano_usd
FROM sidemirror.ledger_totals
WHERE tenant_id = $1 AND project_id = $2 AND day = $3 AND purpose = $4

-- name: take
-- Adds a call and its reservation ($5 tokens, $6 nano_usd, id $7, lease $8) to every total that it counts in.
WITH counted AS (
    INSERT INTO sidemirror.ledger_envelopes (tenant_id, day, purpose, tokens, nano_usd)
    VALUES ('', $3, '', $5, $6), ('', $3, $4, $5, $6), ($1, $3, '', $5, $6), ($1, $3, $4, $5, $6)
    ON CONFLICT (tenant_id, day, purpose) DO UPDATE
    SET tokens = ledger_envelopes.tokens + excluded.tokens, nano_usd = ledger_envelopes.nano_usd + excluded.nano_usd
), noted AS (
    INSERT INTO sidemirror.ledger_reservations
    VALUES ($1, $2, $7, $3, $4, $5, $6, $8)
)
INSERT INTO sidemirror.ledger_totals AS totals VALUES ($1, $2, $3, $4, 1, 0, 0, $5, $6)
ON CONFLICT (tenant_id, project_id, day, purpose) DO UPDATE
SET calls = totals.calls + 1,
    reserved_tokens = totals.reserved_tokens + excluded.reserved_tokens,
    reserved_nano_usd = totals.reserved_nano_usd + excluded.reserved_nano_usd

-- name: strike
-- Removes a reservation that is settled. No change if it was settled before.
DELETE FROM sidemirror.ledger_reservations
WHERE tenant_id = $1 AND project_id = $2 AND reservation_id = $3

-- name: replace
-- Replaces a reserved amount ($5, $6) by the actual one ($7 tokens, $8 nano_usd) in every total. $9: 1 if that is an
-- estimate, else 0.
WITH counted AS (
    UPDATE sidemirror.ledger_envelopes
    SET tokens = tokens - $5 + $7, nano_usd = nano_usd - $6 + $8
    WHERE day = $3 AND (tenant_id, purpose) IN (('', ''), ('', $4), ($1, ''), ($1, $4))
)
UPDATE sidemirror.ledger_totals
SET settled_tokens = settled_tokens + $7,
    settled_nano_usd = settled_nano_usd + $8,
    reserved_tokens = reserved_tokens - $5,
    reserved_nano_usd = reserved_nano_usd - $6,
    unanswered_calls = unanswered_calls + $9,
    estimated_tokens = estimated_tokens + $9 * $7,
    estimated_nano_usd = estimated_nano_usd + $9 * $8
WHERE tenant_id = $1 AND project_id = $2 AND day = $3 AND purpose = $4

-- name: spent
-- The totals of a scope by day (from $3 on) and purpose, newest day first. Each row also has the part reserved under
-- leases that have run out at $4.
SELECT day, purpose, calls, settled_tokens, settled_nano_usd, reserved_tokens, reserved_nano_usd,
       orphaned.tokens, orphaned.nano_usd, unanswered_calls, estimated_tokens, estimated_nano_usd
FROM sidemirror.ledger_totals AS totals,
     LATERAL (SELECT coalesce(sum(tokens), 0)::bigint AS tokens, coalesce(sum(nano_usd), 0)::bigint AS nano_usd
              FROM sidemirror.ledger_reservations AS open
              WHERE open.tenant_id = $1 AND open.project_id = $2 AND open.day = totals.day
                    AND open.purpose = totals.purpose AND open.lease_until_us <= $4) AS orphaned
WHERE totals.tenant_id = $1 AND totals.project_id = $2 AND day >= $3
ORDER BY day DESC, purpose

-- name: spenders
-- Across scopes: those with totals of days from $1 to $2, in their order, at most $3, for one entry of `Serves` ($4, $5;
-- NULL for all).
SELECT DISTINCT tenant_id, project_id
FROM sidemirror.ledger_day_envelopes
WHERE day BETWEEN $1 AND $2 AND ($4::text IS NULL OR tenant_id = $4) AND ($5::text IS NULL OR project_id = $5)
ORDER BY tenant_id, project_id
LIMIT $3

-- name: cost
-- The sums of a scope over the days from $3 to $4, and what counts on the day $5.
SELECT spanned.*, today.*
FROM (SELECT sum(calls)::bigint, sum(settled_tokens)::bigint, sum(settled_nano_usd)::bigint,
             sum(reserved_tokens)::bigint, sum(reserved_nano_usd)::bigint, sum(unanswered_calls)::bigint,
             sum(estimated_tokens)::bigint, sum(estimated_nano_usd)::bigint
      FROM sidemirror.ledger_totals
      WHERE tenant_id = $1 AND project_id = $2 AND day BETWEEN $3 AND $4) AS spanned,
     (SELECT sum(settled_tokens + reserved_tokens)::bigint, sum(settled_nano_usd + reserved_nano_usd)::bigint
      FROM sidemirror.ledger_totals
      WHERE tenant_id = $1 AND project_id = $2 AND day = $5) AS today

-- name: old
-- Across scopes: totals of days before $1, oldest first, at most $2, for one entry of `Serves` ($3, $4; NULL for all).
SELECT tenant_id, project_id, day, purpose
FROM sidemirror.ledger_day_envelopes
WHERE day < $1
      AND ($3::text IS NULL OR tenant_id = $3) AND ($4::text IS NULL OR project_id = $4)
      AND NOT EXISTS (SELECT FROM unnest($5::text[], $6::text[]) AS but (tenant, project)
                      WHERE but.tenant = tenant_id AND coalesce(but.project, project_id) = project_id)
ORDER BY day
LIMIT $2

-- name: forget
-- Removes these totals ($3 days, $4 purposes).
DELETE FROM sidemirror.ledger_totals
WHERE tenant_id = $1 AND project_id = $2 AND (day, purpose) IN (SELECT * FROM unnest($3::bigint[], $4::text[]))

-- name: forget_reservations
-- Removes the open reservations of these totals ($3 days, $4 purposes).
DELETE FROM sidemirror.ledger_reservations
WHERE tenant_id = $1 AND project_id = $2 AND (day, purpose) IN (SELECT * FROM unnest($3::bigint[], $4::text[]))

-- name: forget_sums
-- Across scopes: removes sums of days before $1 that no longer have totals of projects. $2: only the sums of this
-- tenant and of all tenants together; NULL: all sums.
DELETE FROM sidemirror.ledger_envelopes AS sums
WHERE day < $1 AND ($2::text IS NULL OR tenant_id IN ('', $2))
      AND NOT EXISTS (SELECT FROM sidemirror.ledger_day_envelopes AS own WHERE own.day = sums.day)
