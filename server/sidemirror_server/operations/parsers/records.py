"""Parsers of the commands that show, change and erase records of a running sidecar."""

import argparse
from functools import partial

from sidemirror_server.operations.parsers import Commands
from sidemirror_server.operations.parsers.arguments import (
    MOST_HITS,
    add_json,
    add_scope,
    add_settings,
    add_target,
    count,
    flags_of,
    moment,
)


def add_goals(commands: Commands) -> None:
    """Adds `goals`."""
    goals = commands.add_parser("goals", help="what finished goals have taught, and the reports that came to nothing")
    verbs = goals.add_subparsers(required=True, metavar="VERB", dest="verb")
    listed = verbs.add_parser("list", help="reports, the newest first")
    dead = verbs.add_parser("dead", help="reports that nothing could be made of")
    for verb in (listed, dead):
        verb.add_argument("--limit", type=count, default=50, metavar="N", help="the newest N only (default: 50)")
    show = verbs.add_parser("show", help="a goal's reflections, or those of the recent goals")
    show.add_argument("goal_id", nargs="?", default="", metavar="GOAL")
    add_json([listed, dead, show])
    retry = verbs.add_parser("retry", help="queue dead reports again")
    which = retry.add_mutually_exclusive_group(required=True)
    which.add_argument("report_ids", nargs="*", default=[], metavar="REPORT")
    which.add_argument("--all", action="store_true", help="every dead report")
    for verb in verbs.choices.values():
        verb.allow_abbrev = False
        verb.set_defaults(run=_goals)
        add_target(verb)
        add_scope(verb)


def add_erase(commands: Commands) -> None:
    """Adds `erase`."""
    erase = commands.add_parser("erase", help="remove a turn, a session or a subject with all that came of it")
    what = erase.add_mutually_exclusive_group(required=True)
    what.add_argument("--turn", default="", metavar="ID", help="one turn")
    what.add_argument("--session", default="", metavar="ID", help="a session with its turns")
    what.add_argument("--subject", default="", metavar="ID", help="all that names this subject")
    what.add_argument("--list", action="store_true", help="print the project's tombstones, a JSON object a line")
    what.add_argument(
        "--again",
        default="",
        metavar="FILE",
        help="erase again what --list printed, in stores that came from a backup, while no sidecar uses them",
    )
    erase.add_argument("--yes", action="store_true", help="do not ask first")
    add_json([erase])
    erase.add_argument("--request-id", default="", metavar="ID", help="wait for the erasure that began under this id")
    erase.set_defaults(run=_erase)
    add_settings(erase, "data_dir")
    add_target(erase)
    add_scope(erase)


def add_memory(commands: Commands) -> None:
    """Adds `memory`."""
    memory = commands.add_parser("memory", help="find, show, review and carry reflections and strategies; its dreams")
    verbs = memory.add_subparsers(required=True, metavar="VERB", dest="verb")
    search = verbs.add_parser("search", help="memories that fit a text, the best first")
    search.add_argument("text", nargs="?", default="", help="what they should be about; without it, any")
    search.add_argument("--limit", "-k", type=count, default=10, metavar="N", help="how many (default: 10)")
    search.add_argument("--tag", action="append", default=[], help="they have one of these; may come several times")
    search.add_argument("--min-importance", type=float, default=0.0, metavar="X", help="0 to 1 (default: 0)")
    search.add_argument("--include-quarantined", action="store_true", help="those that are in quarantine too")
    search.add_argument("--include-retired", action="store_true", help="those that are retired too")
    search.add_argument(
        "--state",
        choices=["active", "quarantined", "retired"],
        help="in this state only: without a text all, the newest first; else of the 1,000 that fit best",
    )
    search.add_argument("--explain", action="store_true", help="say of each why it is there")
    search.set_defaults(run=partial(_search, search))
    show = verbs.add_parser("show", help="one memory with its versions")
    show.add_argument("id", help="its id")
    lessons = verbs.add_parser("lessons", help="whether lessons help: what became of tasks with them and without them")
    lessons.add_argument("ids", nargs="*", metavar="ID", help="some lessons (default: all that there is evidence of)")
    review = verbs.add_parser("review", help="promote, retire or quarantine a memory")
    review.add_argument("id", help="its id")
    review.add_argument("state", choices=["active", "retired", "quarantined"])
    review.add_argument("--reason", required=True, help="why, for people")
    export = verbs.add_parser("export", help="write all memories, as lines of JSON")
    export.add_argument("file", nargs="?", default="-", help="where to (default: standard output)")
    export.add_argument(
        "--observations",
        action="store_true",
        help="also what recoveries are counted from, with the ids of turns, sessions, tokens and subjects; where "
        "there are tokens, an admin's is needed",
    )
    imported = verbs.add_parser("import", help="keep what an export has; what is known stays as it is")
    imported.add_argument("file", help="lines of JSON, - for standard input; exit code 65 when some could not be used")
    dreams = verbs.add_parser("dreams", help="what passes over the memory came to")
    dreams.add_argument("--now", action="store_true", help="dream now, and show what came of it")
    prunings = verbs.add_parser("prunings", help="what was removed because it was old")
    for log in (dreams, prunings):
        log.add_argument("--limit", "-n", type=count, default=20, metavar="N", help="how many entries (default: 20)")
    recoveries = verbs.add_parser("recoveries", help="what repaired failing calls before, and what is told of it")
    recoveries.add_argument("signature", nargs="?", default="", help="one failure, with all that was done after it")
    for verb in verbs.choices.values():
        verb.allow_abbrev = False
        add_target(verb)
        add_scope(verb)
    add_json([search, show, lessons, dreams, prunings, recoveries])
    memory.set_defaults(run=_memory)


def add_turns(commands: Commands) -> None:
    """Adds `turns`."""
    turns = commands.add_parser("turns", help="what agents did, and why they were shown a lesson")
    verbs = turns.add_subparsers(required=True, metavar="VERB", dest="verb")
    listed = verbs.add_parser("list", help="turns, the newest first")
    listed.add_argument("--session", default="", metavar="ID", help="only this session")
    listed.add_argument("--state", choices=["open", "finished", "abandoned"], help="only turns in this state")
    listed.add_argument(
        "--outcome",
        action="append",
        default=[],
        choices=["success", "failure", "partial", "timeout", "error", "unspecified"],
        help="only turns that ended so; may come several times",
    )
    listed.add_argument("--failed", action="store_true", help="the same as failure, timeout and error")
    listed.add_argument(
        "--judged",
        choices=["revise", "let-through"],
        help="only turns with a critique that says so",
    )
    listed.add_argument("--since", type=moment, metavar="TIME", help="10:42, 2026-11-23T10:42, 15m (ago)")
    listed.add_argument("--until", type=moment, metavar="TIME", help="only turns that started before this time")
    listed.add_argument("--limit", "-n", type=count, default=20, metavar="N", help="how many (default: 20)")
    listed.add_argument(
        "--page-token",
        default="",
        metavar="TOKEN",
        help="go on where a list ended (next_page_token), with the same options and no times of the kind 15m",
    )
    show = verbs.add_parser("show", help="all that happened in a turn, and what the sidecar said")
    show.add_argument("turn_id", metavar="TURN", help="its id, its beginning or its end")
    why = verbs.add_parser("why", help="why a turn was shown its lessons, or nothing; without TURN, the last one shown")
    why.add_argument("turn_id", nargs="?", default="", metavar="TURN", help="its id, its beginning or its end")
    why.add_argument("--at", type=moment, metavar="TIME", help="what was shown then: 10:42, 2026-11-23T10:42:03.250")
    why.add_argument(
        "--lesson",
        default="",
        metavar="LESSON",
        help="only this one: its id, the beginning of it, or a part of its text",
    )
    for verb in verbs.choices.values():
        verb.allow_abbrev = False
        add_target(verb)
        add_scope(verb)
    add_json([listed, show, why])
    turns.set_defaults(run=_turns)


def _turns(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.turns import turns

    return turns(options)


def _goals(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.goals import goals

    return goals(options)


def _erase(options: argparse.Namespace) -> int:
    if options.again:
        from sidemirror_server.operations.erase_again import erase_again

        return erase_again(flags_of(options), options.again, as_json=options.json)
    from sidemirror_server.operations.erase import erase

    return erase(options)


def _search(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.limit > MOST_HITS and (options.text.strip() or not options.state):
        parser.error(f"--limit/-k: a search finds at most {MOST_HITS:,}; --state without a text lists more")
    if not 0 <= options.min_importance <= 1:
        parser.error("--min-importance: a number from 0 to 1 is expected")
    return _memory(options)


def _memory(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.memory import memory

    return memory(options)
