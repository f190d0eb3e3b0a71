-- compatible: yes
-- What people look for: turns by their outcome, and where a lesson was shown (trace/log.py, trace/receipts.py).

-- How a turn's task ended, as its body has it; empty while that was not reported. Earlier servers do not set it: the
-- trigger does so when they end a turn.
ALTER TABLE sidemirror.turns ADD COLUMN outcome text COLLATE "C" NOT NULL DEFAULT '';
CREATE FUNCTION sidemirror.note_outcome() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    -- Within a text of the body the quotation marks have backslashes.
    NEW.outcome := coalesce(substring(encode(NEW.body, 'escape') FROM '"outcome":"([a-z]+)"'), '');
    RETURN NEW;
END
$$;
CREATE TRIGGER has_outcome BEFORE INSERT OR UPDATE ON sidemirror.turns
FOR EACH ROW WHEN (NEW.standing <> 'open' AND NEW.outcome = '') EXECUTE FUNCTION sidemirror.note_outcome();

-- The lessons and recoveries that a receipt shows or holds back. Kept by a trigger on receipts.
CREATE TABLE sidemirror.shown_lessons (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    lesson_id  text COLLATE "C" NOT NULL,
    time_us    bigint NOT NULL,
    receipt_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, project_id, lesson_id, time_us, receipt_id)
);
SELECT sidemirror.protect('sidemirror.shown_lessons');

CREATE FUNCTION sidemirror.lessons_in(body bytea) RETURNS SETOF text LANGUAGE sql STABLE SET search_path = pg_catalog
AS $$
    SELECT item ->> 'id' FROM json_array_elements(coalesce(convert_from(body, 'UTF8')::json -> 'items', '[]')) AS item
    UNION
    SELECT held FROM json_array_elements_text(coalesce(convert_from(body, 'UTF8')::json -> 'held_back', '[]')) AS held
$$;
CREATE FUNCTION sidemirror.keep_shown_lessons() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM sidemirror.shown_lessons AS shown
        WHERE (shown.tenant_id, shown.project_id, shown.time_us, shown.receipt_id)
              = (OLD.tenant_id, OLD.project_id, OLD.time_us, OLD.receipt_id)
              AND shown.lesson_id IN (SELECT sidemirror.lessons_in(OLD.body));
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO sidemirror.shown_lessons
        SELECT NEW.tenant_id, NEW.project_id, lesson_id, NEW.time_us, NEW.receipt_id
        FROM sidemirror.lessons_in(NEW.body) AS lesson_id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER shows AFTER INSERT OR DELETE OR UPDATE OF body ON sidemirror.receipts
FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_shown_lessons();

-- What is there already. Row level security holds the owner too, and is lifted for these statements; nobody else reaches
-- the tables until this is committed.
ALTER TABLE sidemirror.turns NO FORCE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.receipts NO FORCE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.shown_lessons NO FORCE ROW LEVEL SECURITY;
UPDATE sidemirror.turns SET outcome = outcome WHERE standing <> 'open';
INSERT INTO sidemirror.shown_lessons
SELECT tenant_id, project_id, lesson_id, time_us, receipt_id
FROM sidemirror.receipts CROSS JOIN LATERAL sidemirror.lessons_in(body) AS lesson_id;
ALTER TABLE sidemirror.turns FORCE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.receipts FORCE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.shown_lessons FORCE ROW LEVEL SECURITY;
CREATE INDEX turns_outcome ON sidemirror.turns (tenant_id, project_id, standing, outcome, started_us, turn_id);
