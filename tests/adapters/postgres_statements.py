"""Every statement of every port on Postgres, the values that it is looked at with, and how much it may read then."""

from types import ModuleType
from typing import Any

from sidemirror_server.storage.postgres import (
    critiques,
    dreams,
    erasures,
    goal_reflections,
    journal,
    ledger,
    memories,
    memory_graph,
    memory_search,
    observations,
    policies,
    pruning,
    receipts,
    requests,
    sessions,
    sources,
    trials,
    turn_log,
    work,
)
from sidemirror_server.storage.postgres.memory_search import _INDEXED_DIMENSIONS
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.postgres_rows import ROWS, SCOPES
from tests.conformance.turn_log import head

ONE = Scope("t1", "p")
PLACE = ("t1", "p")
# What a sidecar serves, as the last two values of what looks across scopes.
EVERYTHING, TENANT = (None, None), ("t1", None)
# After them, where some of it may be excepted: nothing.
NOBODY: tuple[list[str], list[str]] = ([], [])
LATE = 2**62

_HEAD = head("000500", 2)
# A filter of `memory_search` that lets everything active pass.
_ANY: tuple[object, ...] = (0.0, None, ["active"], [])
_CLAIM = (*PLACE, "000001", 1, LATE)
# (adapter, statement): the values it is looked at with, and how many rows it may read, of {SCOPES} x {ROWS} in a table.
VALUES: dict[ModuleType, dict[str, tuple[tuple[Any, ...], int]]] = {
    turn_log: {
        "kept": ((*PLACE, ["000500", "none"]), 1),
        "put": (
            (
                *(*PLACE, ["s000500"], [1], [b"x"]),
                *turn_log._heads([_HEAD]),
                *("turn", ["new"], ["s1"], [1], [1], [b"x"]),
            ),
            2,
        ),
        "bodies": ((*PLACE, "turn", ["k10", "k10"], [201, 202]), 2),
        "read": ((*PLACE, "turn", "k10", 205, 5, 10**6), 5),
        "tail": ((*PLACE, "turn", 30_000, 5, 10**6), 5),
        "tail_of_group": ((*PLACE, "turn", 0, 5, 10**6, "s000050"), 5),
        "last_position": (PLACE, 6),
        "head": ((*PLACE, "000500"), 1),
        "heads": ((*PLACE, LATE, "", 5, 0), 5),
        "heads_of": ((*PLACE, ["000500", "000501"]), 2),
        "heads_standing": ((*PLACE, LATE, "", 5, 0, "open"), 5),
        # At most a page of each pair.
        "heads_with_outcome": ((*PLACE, LATE, "", 5, 0, ["open", "finished"], ["", ""]), 10),
        "heads_of_session": ((*PLACE, LATE, "", 5, 0, "open", "s000050", [""]), 20),
        "newest": ((*PLACE, "s000050"), 1),
        "idle": ((LATE, 5, *EVERYTHING), 5),
        "open_heads": ((*PLACE, ["000500", "000501"], 2**62), 2),
        # With a look at the turns that are left in the session.
        "move_turn": ((*PLACE, "s000050", "s1", "000500"), 1),
        "move_turn_entries": ((*PLACE, "s000050", "s1", "k10"), 20),
        "move_turn_receipts": ((*PLACE, "s000050", "s1", "000500"), 1),
        "move_turn_critiques": ((*PLACE, "s000050", "s1", "000500"), 21),
        "name_session": ((*PLACE, "s000050", "s1"), 2),
        "leave_session": ((*PLACE, "s000050"), 2),
    },
    sessions: {
        "create": ((*PLACE, "new", 1, 1, b"x"), 0),
        # With its subjects.
        "get": ((*PLACE, "s000050"), 22 + 1),
        "list": ((*PLACE, 60, "", 2), 2 + 2 * (21 + 1)),
        "update": ((*PLACE, "s000050", b"y", 1), 1),
        "any_open": ((*PLACE, "s000050"), 20),
        "delete": ((*PLACE, "s000050"), 1),
        "delete_turns": ((*PLACE, "s000050"), 20),
        "delete_entries": ((*PLACE, "s000050", "turn"), 20),
    },
    requests: {
        "recall": ((*PLACE, "m", "000500", 1), 1),
        "remember": ((*PLACE, "m", "000500", LATE, LATE, b"d", b"a"), 1),
        "kept": ((*PLACE, "m", "000500"), 1),
        "expired": ((LATE, 5, *EVERYTHING), 5),
        "forget": ((*PLACE, LATE, ["m", "m"], ["000500", "000501"]), 2),
    },
    work: {
        "put": ((*PLACE, "new", "goal", b"x", 3, 1, 1), 0),
        "get": ((*PLACE, "000500"), 1),
        # Of each tenant the first that is due, of those kinds.
        "any_due": ((50, ["goal", "dream"], ["t1", "t2"]), 2),
        "used_up": ((50, ["goal"], *EVERYTHING), SCOPES * 50),
        "bury": ((*PLACE, ["000002"], LATE, "e"), 2),
        "due": ((LATE, ["goal", "dream"], 5, *EVERYTHING), 20),
        "claim": ((*PLACE, ["000500", "000505"], LATE, LATE, "w"), 4),
        "extend": ((*_CLAIM, LATE), 1),
        "checkpoint": ((*_CLAIM, b"n"), 1),
        "finish": ((*_CLAIM, b"r"), 1),
        "fail": ((*_CLAIM, "e", None), 1),
        "release": (_CLAIM, 1),
        "revive": ((*PLACE, "000004", 1), 1),
        "list": ((*PLACE, "goal", LATE, "", None, 5, 10**6), 5),
        # What there is to count, and at most the rest of the scope.
        "count": ((*PLACE, "goal"), ROWS),
        # What waits: three fifths of the kind's.
        "waiting": ((*PLACE, "goal"), 600),
        "dead": ((LATE, ["goal", "dream"], 5, *EVERYTHING), 5),
        "purge_dead": ((*PLACE, ["000004", "000009"], LATE), 2),
        "done": ((LATE, ["goal", "dream"], 5, *EVERYTHING), 5),
        "purge": ((*PLACE, ["000003", "000008"], LATE), 2),
        # Every envelope that is done: asked by what puts lost reflections back, once an hour.
        "scopes": ((["goal"], *EVERYTHING), SCOPES * ROWS),
        "forget": ((*PLACE, "000004"), 1),
    },
    goal_reflections: {
        "refused": ((*PLACE, "000500", 1, 0), 1),
        "put": ((*PLACE, "g10", LATE, "new", "o", "i", 0.5, "failed", 1), 0),
        "trim": ((*PLACE, "g10", 3), 3 + 20),
        "has": ((*PLACE, "g10", "000205"), 1),
        "remove": ((*PLACE, "g10", "000205"), 1),
        "name_words": ((*PLACE, "g10", LATE, ["w1", "new"]), 2),
        "of_goals": ((*PLACE, ["g10", "g11"], 0), 40),
        "newest": ((*PLACE, 100, 30), 30),
        # Every goal that has one of the words: w1 is in a hundredth of them.
        "with_words": ((*PLACE, ["w1"], 50), 20),
        "delete": ((*PLACE, "g10"), 20),
        "delete_words": ((*PLACE, "000500"), 1),
        "deleted": ((*PLACE, "g10", 1), 1),
        "oldest": ((*PLACE, 100, 4), 100),
        "every": (PLACE, ROWS),
        "forget": ((*PLACE, "g10", 203), 20),
        "forget_deletions": ((*PLACE, 100, 4), 4 + 4),
    },
    journal: {
        "add": ((*PLACE, "goal", "new", "g", 1, b"x"), 0),
        "forget": ((*PLACE, "goal", 0, 20), 20 + 20),
        "remove": ((*PLACE, "goal", "s000050"), 20),
        "mark": ((*PLACE, "goal", 1, 7), 0),
        "gone_up_to": ((*PLACE, "goal"), 1),
        "drop": ((*PLACE, "goal", "k50"), 20),
    },
    policies: {
        "get": (PLACE, 2),
        "row": (PLACE, 1),
        # Those of the tenant, when one of them is set.
        "others": (("t1",), ROWS + 2),
        "put": ((*PLACE, 2, b"{}"), 0),
        "remove": (PLACE, 1),
        # All that set a retention.
        "retained": (EVERYTHING, SCOPES * (ROWS // 100 + 2)),
        "deciding": (EVERYTHING, SCOPES * (ROWS + 2)),
    },
    observations: {
        "claim": ((LATE, LATE, 5, *EVERYTHING), 10),
        "hold": ((*PLACE, ["000500", "none"]), 1),
        "put": ((*PLACE, ["new"], ["000500"], ["000500"], ["s1"], [1], [b"x"]), 0),
        # All observations of a signature, of which some are too many.
        "shorten": ((*PLACE, "s1", 18), 20 + 2),
        "learned": ((*PLACE, "000501"), 1),
        "again": ((*PLACE, "000501", LATE), 1),
        "of_signature": ((*PLACE, "s1"), 20),
        # From each signature to the next.
        "signatures": ((*PLACE, "", 5), 5),
        "note_imported": ((*PLACE, "new", 1), 0),
        "old_imported": ((LATE, 5, *EVERYTHING, *NOBODY), 5),
        # Each is locked, and removed.
        "forget": ((*PLACE, ["000500", "none"]), 2),
        "subjects": ((*PLACE, ["turn:000500", "turn:none"]), 5),
    },
    receipts: {
        "issue": ((*PLACE, "new", "goal", 1, "", "", "", b"{}"), 0),
        "show": ((*PLACE, "000500", [b"new"]), 1),
        "get": ((*PLACE, "000500"), 1),
        "shown": ((*PLACE, [b"000500", b"000501"]), 2),
        "find": ((*PLACE, LATE, "", 5, 0), 5),
        "find_turn": ((*PLACE, LATE, "", 5, 0, "k50"), 5),
        # Each with its receipt.
        "find_lesson": ((*PLACE, LATE, "", 5, 0, "l50"), 10),
        "of_turn": ((*PLACE, "k50", 5), 5),
        "of_session": ((*PLACE, "s50", 1015, LATE, 5), 5),
        "of_turns": ((*PLACE, ["k50", "k51"], 5), 10),
        "oldest": ((LATE, 5, *EVERYTHING), 5),
        "forget_items": ((*PLACE, ["000500", "000501"]), 2),
        "forget": ((*PLACE, ["000500", "000501"]), 2),
    },
    trials: {
        "assign": ((*PLACE, "new", ["m1", "m2"], [1, 1], ["shown", "shown"], [0.5, 0.5], 1), 0),
        "of_receipt": ((*PLACE, "r50"), 10),
        "results": ((*PLACE, ["r50", "r51"]), 20),
        "settle": ((*PLACE, "r50", ["m1"], [1], ["shown"], [0.5], 1, [True], [None]), 1),
        # All trials of a lesson: they are counted.
        "tallies": ((*PLACE, ["m1"], [1]), 200),
        # From each lesson to the next.
        "lessons": ((*PLACE, None, 5), 5),
        "old": ((LATE, 5, *EVERYTHING), 5),
        "forget": ((*PLACE, ["r50", "r50"], ["m1", "m2"]), 2),
    },
    critiques: {
        "keep": ((*PLACE, "new", 1, "rules", 1, True, "", "", b"x", "m", 1), 0),
        "get": ((*PLACE, "000500"), 1),
        "list": ((*PLACE, LATE, "", 5), 5),
        "list_of_turn": ((*PLACE, LATE, "", 5, "k10", None), 5),
        "verdicts": ((*PLACE, ["k10", "k11"]), 40),
        "list_of_session": ((*PLACE, LATE, "", 5, "s10"), 5),
        "report": ((*PLACE, "000500", "success", 1.0, 1, "failure"), 1),
        # At most the limit.
        "reported": ((*PLACE, "rules", "m", 0, 5), 5),
        # All that was reported, for statistics alone; the index is read before the rows.
        "reported_models": ((*PLACE, 0), 2_000),
        # All of the time asked for.
        "figures": ((*PLACE, 100, 200, None, None), 100),
        "old": ((LATE, 5, *EVERYTHING, *NOBODY), 5),
        "forget": ((*PLACE, ["000500", "000501"]), 2),
    },
    memories: {
        "lock": (([1, 2],), 0),
        "add": (
            (
                *(*PLACE, "new", "strategy", "active", "x", "rm", 0.5, None, 10, "", ["t"], 1, 1, 1, 1),
                *("x", "", "x", "", b"{}"),
            ),
            0,
        ),
        "replace": ((*PLACE, "000500", "active", 0.5, None, 10, "", ["t"], 3, 1, 1, b"{}"), 1),
        "replace_text": ((*PLACE, "000500", "y", "y"), 1),
        "get": ((*PLACE, ["000500", "000501"]), 2),
        "hold": ((*PLACE, "000500"), 1),
        "known": ((*PLACE, "strategy", ["t:000500", "e:x"]), 2),
        "know": ((*PLACE, "000500", "strategy", ["t:000500", "e:x"]), 0),
        "list": ((*PLACE, LATE, "", 5, None), 5),
        "list_in_state": ((*PLACE, LATE, "", 5, None, "retired"), 5),
        "keep_version": ((*PLACE, "000500", 2, "x", "", b"x"), 0),
        "versions": ((*PLACE, "000500", LATE, 5), 1),
        "delete": ((*PLACE, "000500"), 1),
        "delete_versions": ((*PLACE, "000500"), 1),
        "delete_keys": ((*PLACE, "000500"), 1),
        "learned": ((*PLACE, "000500", 1), 1),
        "keep_lesson": ((*PLACE, "000500", "r", "s", 1), 0),
        "forget_lessons": ((*PLACE, LATE), 20),
        "report": ((*PLACE, "000500", "success", 1, 0.5, ""), 0),
        "outcome": ((*PLACE, "000500"), 1),
    },
    memory_graph: {
        "link": ((*PLACE, ["m:000500"], ["similar_to"], ["m:000501"], [1]), 0),
        "link_same_error": ((*PLACE, "t:x", "m:000500", 1, 8), 9),
        "unlink": ((*PLACE, ["m:000500"], ["mentions"], ["t:x"]), 1),
        "hold_memories": ((*PLACE, ["000500", "000501"]), 2),
        "from_nodes": ((*PLACE, ["m:000500", "m:000501"], ["mentions", "similar_to"], 5), 4),
        "to_nodes": ((*PLACE, ["m:000050", "t:x"], ["mentions", "similar_to"], 5), 10),
        "of_memories": ((*PLACE, ["m:000500", "m:000501"]), 4),
    },
    memory_search: {
        "figures": (PLACE, 16),
        "having": ((*PLACE, ["w1", "none"], 10), 10),
        # All that have the words, twice: their terms, and what they are weighed by.
        "by_text": ((*PLACE, ["w1"], [False], [1.0], 1.0, 1.0, 1.2, 0.75, 5, *_ANY, True), 2 * 20),
        "best": ((*PLACE, 5, *_ANY), 5),
        # One of the newest is not important enough.
        "newest": ((*PLACE, 5, *_ANY), 6),
        "labelled": ((*PLACE, 5, *_ANY, ["g:t1"]), 2 * 20),
        "terms_in": ((*PLACE, ["000500", "000501"]), 2),
        # All of the scope: what is kept of a small one is compared, and counted; what waits for a vector is looked for.
        "embedded": ((*PLACE, "m"), ROWS),
        "nearest_exactly": ((*PLACE, "m", [1.0, 0.0, 0.0, 0.0], 5, *_ANY), 2 * ROWS),
        "nearest_plainly": ((*PLACE, "m", [1.0, 0.0, 0.0, 0.0], 5, *_ANY), 2 * ROWS),
        "unembedded": ((*PLACE, "m", 5), 2 * ROWS),
        "embed": ((*PLACE, "m", ["{0,1,0,0}"], ["000500"], ["x"]), 1),
        "take": ((*PLACE, "000500", "000500", 1, 2), 1),
        "leave": ((*PLACE, "000500", "000500"), 1),
    },
    dreams: {
        "unread": ((*PLACE, 5), 5),
        "kept": ((*PLACE, 500), 1),
        "standing": (PLACE, 1),
        "make": (PLACE, 0),
        "hold": (PLACE, 1),
        "add": ((*PLACE, LATE, "new", b"x"), 0),
        "count": ((*PLACE, 5, True, 0, 1, 1), 1),
        "read": ((*PLACE, ["000501", "000503"]), 4),
        "list": ((*PLACE, LATE, 5), 5),
        # Each project that has something unread, and the first and the last of that.
        "waiting": ((LATE, 5, *EVERYTHING), 3 * SCOPES),
    },
    pruning: {
        "projects": ((5, *EVERYTHING, *NOBODY), 5),
        "looked_through": ((*PLACE, 5), 1),
        # Those that matter little, of which none is old enough; what is important is not looked at.
        "old_memories": ((*PLACE, 0.4, LATE, 5), 5),
        "projects_after": ((*PLACE, 5, *EVERYTHING, *NOBODY), 5),
        # All of a project, by an index alone.
        "count": (PLACE, ROWS),
        "surplus": ((*PLACE, 5), 5),
        "old_turns": ((LATE, 5, *EVERYTHING, *NOBODY), 5),
        "forget_entries": ((*PLACE, ["k50", "k51"]), 40),
        "forget_turns": ((*PLACE, ["000500", "000501"]), 2),
        "forget_sessions": ((*PLACE, ["s000050", "none"], LATE), 22),
        "note": ((*PLACE, "turns", 1, 1, 1, None, 1), 0),
        "gone_up_to": (PLACE, 1),
        "list": ((*PLACE, LATE, 5), 5),
    },
    sources: {
        "add": ((*PLACE, "memory:new", ["turn:5", "subject:x"]), 0),
        "erased": ((*PLACE, ["turn", "turn"], [b"000500", b"none"]), 1),
        "bury": ((*PLACE, ["turn"], [b"new"], [1]), 0),
    },
    erasures: {
        "begin": ((*PLACE, "new", 1), 0),
        "forget_ended": ((*PLACE, 500, 4), 4 + 4),
        "count_tombstones": ((*PLACE, 5), 5),
        "is_session": ((*PLACE, "s000050"), 1),
        "get": ((*PLACE, "000500"), 1),
        "add": ((*PLACE, "e50", ["turn:x"]), 0),
        "left": ((*PLACE, "e50", 5), 5),
        "take": ((*PLACE, "e50", "turn:001000"), 1),
        "put_back": ((*PLACE, "e50"), 20),
        "mark_again": ((*PLACE, "000500"), 1),
        "count": ((*PLACE, "000500", "{}"), 1),
        "forget_records": ((*PLACE, "e50"), 20),
        "finish": ((*PLACE, "000500", 1), 1),
        "tombstones": ((*PLACE, "turn", b"000500", 5), 5),
        "derived": ((*PLACE, "turn:50"), 20),
        "forget_sources": ((*PLACE, "turn:50"), 20),
        "turns_of_session": ((*PLACE, "s000050"), 20),
        "critiques_of_session": ((*PLACE, "s50"), 20),
        "receipts_of_session": ((*PLACE, "s50"), 20),
        "forget_session": ((*PLACE, "s000050"), 1),
        # The turn, and those of its session.
        "later_turns": ((*PLACE, "001000"), 21),
        "critiques_of_turn": ((*PLACE, "k50"), 20),
        "receipts_of_turn": ((*PLACE, "k50"), 20),
        "forget_emptied_session": ((*PLACE, "001000"), 4),
        "forget_entries": ((*PLACE, "k50"), 20),
        "forget_observations": ((*PLACE, "000050"), 20),
        "forget_later_observations": ((*PLACE, "000050"), 10),
        "forget_observation": ((*PLACE, "000050"), 1),
        "forget_turn": ((*PLACE, "000500"), 1),
        "forget_critique": ((*PLACE, "000500"), 1),
        "forget_trials_of_receipt": ((*PLACE, "r50"), 10),
        "forget_outcome": ((*PLACE, "000500"), 1),
        "forget_receipt_items": ((*PLACE, "000500"), 1),
        "forget_receipt": ((*PLACE, "000500"), 1),
        "receipt": ((*PLACE, "000500"), 1),
        "rewrite_receipt": ((*PLACE, "000500", b"{}"), 1),
        "forget_receipt_item": ((*PLACE, "000500", b"000500"), 1),
        "entries": ((*PLACE, "k50"), 20),
        "rewrite_entry": ((*PLACE, "k50", 1001, b"{}"), 1),
        "head": ((*PLACE, "000500"), 1),
        "rewrite_head": ((*PLACE, "000500", b"{}"), 1),
        "memory": ((*PLACE, "000500"), 1),
        "count_versions": ((*PLACE, "000500"), 1),
        # All trials of a lesson, in any version.
        "forget_trials": ((*PLACE, "m1"), 200),
        # All dreams of the scope, which end soon.
        "forget_dream_jobs": (PLACE, ROWS // 2),
        "report": ((*PLACE, "000500"), 1),
        "forget_report": ((*PLACE, "000500"), 1),
        # All jobs of the scope that learn from a turn, which are kept for a day.
        "forget_learning": ((*PLACE, "000500"), ROWS // 2),
        "forget_answer": ((*PLACE, "m", "000500"), 1),
    },
    ledger: {
        "used": ((*PLACE, 100, "reflect"), 5),
        "take": ((*PLACE, 100, "reflect", 1, 1, "new", 1), 0),
        "strike": ((*PLACE, "000500"), 1),
        "replace": ((*PLACE, 100, "reflect", 1, 1, 1, 1, 1), 4),
        "spent": ((*PLACE, ROWS - 1, 1), 44),
        # What was spent on two days, by scope.
        "spenders": ((ROWS - 1, ROWS, 5, *EVERYTHING), 2 * SCOPES),
        "cost": ((*PLACE, ROWS - 1, ROWS, ROWS), 3),
        "old": ((LATE, 5, *EVERYTHING, *NOBODY), 5),
        "forget": ((*PLACE, [100, 101], ["reflect", "reflect"]), 2),
        "forget_reservations": ((*PLACE, [50, 51], ["reflect", "reflect"]), 40),
        # The sums of the oldest two days, and whether something is left of each.
        "forget_sums": ((3, None), 4 * SCOPES),
    },
}
# The same for a sidecar that serves one tenant, or one project: what it may read then. Others have as much everywhere.
SERVED: dict[tuple[ModuleType, str], int] = {
    # The open turns of the tenant, of which there are as many as agents at work.
    (turn_log, "idle"): ROWS // 10,
    (requests, "expired"): 5,
    (work, "used_up"): 50,
    (work, "due"): 20,
    (work, "dead"): 5,
    (work, "done"): 5,
    (work, "scopes"): ROWS,
    (receipts, "oldest"): 5,
    # A tenant's policies are those of its projects, too.
    (policies, "retained"): ROWS // 100 + 2,
    (policies, "deciding"): ROWS + 2,
    (trials, "old"): 5,
    (observations, "claim"): 10,
    (observations, "old_imported"): 5,
    (critiques, "old"): 5,
    # What the project has spent by day and purpose.
    (ledger, "old"): 5,
    (ledger, "spenders"): 2,
    (pruning, "projects"): 1,
    (pruning, "projects_after"): 1,
    (pruning, "old_turns"): 5,
    (dreams, "waiting"): 3,
}
# What reads envelopes of every scope.
ACROSS = {
    *((critiques, "old"), (dreams, "waiting"), (policies, "retained"), (receipts, "oldest")),
    *((requests, "expired"), (trials, "old"), (turn_log, "idle")),
    *((ledger, name) for name in ("forget_sums", "old", "replace", "spenders", "take", "used")),
    *((observations, name) for name in ("claim", "old_imported")),
    *((pruning, name) for name in ("old_turns", "projects", "projects_after")),
    *((work, name) for name in ("dead", "done", "due", "scopes", "used_up")),
}
# What answers a whole table, which Postgres may read without an index.
WHOLE = {(policies, "deciding")}

# A setting has no plan. The index of vectors is shared by all scopes, which test_postgres_memory_search.py looks at.
NOT_LOOKED_AT = {
    # All of a scope: only for one that came from a backup.
    erasures: {"stored", "noted"},
    memory_search: {"search_widely", "search_deeply", *(f"nearest_{n}" for n in _INDEXED_DIMENSIONS)},
}
