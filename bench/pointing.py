"""`uv run python -m bench.pointing`: which contradictions the rules point at, and which right answers they flag.

False alarms: the messages after a tool result in the successful recorded tau episodes, in the part for tuning
(`bench/split.py`). Each is judged twice, as callers do it: beside the results of its turn, and beside all results of
the conversation so far; it is flagged if one of the two flags it. Pairs: `tests/critique/pairs`, of which those that
are seen count here, and with `--unseen` the others: these are scored once. `--blind` counts all pairs of a folder whose
authors nobody has read. `--made` adds pairs that a corruption of recorded right messages makes; they are written
nowhere. The last table has each figure that was wanted beside its goal.

A pair is caught if the wrong answer has a point, and caught with the right quotes if a point's quote overlaps the
pair's, on both sides. A quote that the pair leaves empty is not asked for on that side.
"""

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.split import Part, known_groups, rows_of
from sidemirror_server.critique.material import CritiqueMaterial, ToolEvidence, evidence_of
from sidemirror_server.critique.verdict import verdict_of
from sidemirror_server.models.adapters.rules.critique import critique_answer
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.points import MECHANISMS, points_of
from tests.critique.recorded_pairs import FOLDER, KINDS, Pair, all_pairs
from tests.recorded import DATA

_SETS = ("episodes/tau_bench", "episodes/tau2_bench")
# The most that a mechanism, and all of them, may flag of recorded right messages.
MOST_EACH, MOST_IN_ALL = 0.003, 0.01
# What was wanted of pairs: the part that is caught with the right quotes, of the seen and of the unseen; of the unseen,
# in how many kinds; how many right answers may be flagged; how often the wrong answer may have the higher confidence.
LEAST_SEEN, LEAST_UNSEEN, LEAST_KINDS, MOST_RIGHT, MOST_CONFIDENT = 0.9, 0.45, 7, 0.01, 0.1
_MADE = 30


class Message(NamedTuple):
    """A recorded message after a tool result, and what it can be judged by: its turn, and the conversation so far."""

    episode_id: str
    materials: tuple[CritiqueMaterial, ...]


class Alarms(NamedTuple):
    """How many messages were judged, and which were flagged by which mechanism."""

    messages: int
    flagged: dict[str, list[tuple[str, Point, str]]]

    def share(self, mechanism: str) -> float:
        """The part of the messages that a mechanism flags; of "all", any."""
        return len(self.flagged.get(mechanism, ())) / self.messages if self.messages else 0.0


def messages_of(episode: dict[str, Any]) -> Iterator[Message]:
    """The messages to the user that follow a tool result in the same turn. Labels and the hidden goal are not read."""
    question, turn_from = "", 0
    results: list[ToolEvidence] = []
    called: dict[str, str] = {}
    for event in episode["events"]:
        if event.get("actor") == "user":
            continue
        kind, text = event["type"], event["content"]
        if kind == "user_message":
            question, turn_from = text, len(results)
        elif kind == "tool_call":
            called[event.get("call_id") or event["name"]] = text
        elif kind in {"tool_result", "tool_error"}:
            arguments = called.get(event.get("call_id") or event["name"], "")
            results.append(ToolEvidence(event["name"], text, kind == "tool_error", arguments))
        elif kind in {"llm_response", "final_response"} and text.strip() and len(results) > turn_from:
            beside = dict.fromkeys((tuple(results[turn_from:]), tuple(results)))
            yield Message(episode["episode_id"], tuple(CritiqueMaterial(question, text, one) for one in beside))


def right_messages(part: Part = Part.TUNING) -> Iterator[Message]:
    """The messages of the successful episodes of a part."""
    known = known_groups(DATA)
    for name in _SETS:
        for episode in rows_of(DATA, name, part, known):
            if episode["outcome"] == "success":
                yield from messages_of(episode)


def found(material: CritiqueMaterial) -> list[tuple[str, Point]]:
    """The points of a response, each with its mechanism."""
    return points_of(evidence_of(material), material.response)


def alarms(messages: Iterable[Message]) -> Alarms:
    flagged: defaultdict[str, list[tuple[str, Point, str]]] = defaultdict(list)
    count = 0
    for message in messages:
        count += 1
        told = {name: point for material in message.materials for name, point in found(material)}
        for name, point in told.items():
            flagged[name].append((message.episode_id, point, message.materials[0].response))
        if told:
            name, point = next(iter(told.items()))
            flagged["all"].append((message.episode_id, point, message.materials[0].response))
    return Alarms(count, flagged)


def quotes_are_right(pair: Pair, point: Point) -> bool:
    """Whether a point shows what the pair says is wrong, on both sides."""
    answer = not pair.answer_quote or _overlap(pair.wrong, pair.answer_quote, point.quote)
    if not pair.answer_quote and point.quote:
        answer = False
    if not pair.record_quote:
        return answer
    texts = [pair.request, *(part for tool in pair.tools for part in (tool.evidence.arguments, tool.evidence.text))]
    record = any(_overlap(text, pair.record_quote, point.against) for text in texts)
    return answer and record


def _overlap(text: str, one: str, other: str) -> bool:
    """Whether two quotes of a text share a letter or digit, wherever they stand in it."""
    if not one or not other:
        return False
    ones, others = ([*re.finditer(re.escape(quote), text, re.IGNORECASE)] for quote in (one, other))
    return any(a.start() < b.end() and b.start() < a.end() for a in ones for b in others)


def asks_for_a_revision(material: CritiqueMaterial) -> bool:
    """Whether the whole critique, of which the points are a part, asks for a revision."""
    return verdict_of(critique_answer(evidence_of(material)), material).should_revise


def made_pairs(messages: Sequence[Message]) -> Iterator[Pair]:
    """Pairs of recorded right messages, in each of which one number that stands on record has another digit."""
    chance = random.Random(15)
    order = list(messages)
    chance.shuffle(order)
    made = 0
    for message in order:
        material = message.materials[-1]
        record = material.evidence_text
        numbers = [
            match
            for match in re.finditer(r"(?<![\w.,#-])\d{3,6}(?:\.\d\d)?(?![\w-])", material.response)
            if match[0] in record
        ]
        if not numbers:
            continue
        match = chance.choice(numbers)
        digit = str((int(match[0][0]) + chance.randrange(1, 9)) % 10 or 9)
        wrong = material.response[: match.start()] + digit + match[0][1:] + material.response[match.end() :]
        if wrong == material.response:
            continue
        tools = [_tool(result) for result in material.results]
        made += 1
        yield Pair(
            f"made-{made:02}",
            "number",
            material.question,
            tools,
            wrong,
            material.response,
            digit + match[0][1:],
            match[0],
        )
        if made == _MADE:
            return


def _tool(result: ToolEvidence) -> Any:
    from tests.critique.recorded_pairs import Tool

    return Tool(result.tool, result.text, result.arguments, result.failed)


class Score(NamedTuple):
    """What became of one pair."""

    pair: Pair
    wrong: list[tuple[str, Point]]
    right: list[tuple[str, Point]]

    @property
    def caught(self) -> bool:
        return any(quotes_are_right(self.pair, point) for _, point in self.wrong)


def scores(pairs: Iterable[Pair]) -> list[Score]:
    return [Score(pair, found(pair.material(pair.wrong)), found(pair.material(pair.right))) for pair in pairs]


def more_confident_of_the_wrong(score: Score) -> bool:
    """Whether the whole critique states a higher confidence for the wrong answer; no confidence is none."""
    wrong, right = (
        verdict_of(critique_answer(evidence_of(material)), material).confidence
        for material in (score.pair.material(score.pair.wrong), score.pair.material(score.pair.right))
    )
    return wrong is not None and right is not None and wrong > right


def _tell_alarms(told: Alarms, *, show: bool) -> None:
    print(
        f"\nFalse alarms on {told.messages} right messages (at most {MOST_EACH:.1%} each, {MOST_IN_ALL:.1%} in all):\n"
    )
    print("| mechanism | flagged | share | |\n|---|---|---|---|")
    for name in (*MECHANISMS, "all"):
        most = MOST_IN_ALL if name == "all" else MOST_EACH
        verdict = "met" if told.share(name) <= most else "**missed**"
        print(f"| {name} | {len(told.flagged.get(name, []))} | {told.share(name):.2%} | ≤ {most:.1%}: {verdict} |")
    if show:
        for name, flagged in told.flagged.items():
            for episode, point, _ in flagged if name != "all" else ():
                print(f"  {name} [{episode}] {point.quote!r} | {point.against!r}")


def _tell_goals(told: Alarms | None, name: str, made: list[Score], *, seen: bool) -> None:
    if not made:
        print(f"\n{name}: there are no such pairs, so nothing to hold against what was wanted.")
        return
    caught = [score for score in made if score.caught]
    kinds = {score.pair.kind for score in caught}
    flagged, higher = sum(bool(score.right) for score in made), sum(more_confident_of_the_wrong(one) for one in made)
    authors, known = {score.pair.author for score in made}, {score.pair.kind for score in made}
    rows = [
        ("pairs, authors and kinds", f"{len(made)}, {len(authors)}, {len(known)}", "200, 3, 10",
         len(made) >= 200 and len(authors) >= 3 and len(known) >= 10),
        ("caught with the right quotes", _part(len(caught), len(made)), f"≥ {LEAST_SEEN if seen else LEAST_UNSEEN:.0%}",
         len(caught) >= (LEAST_SEEN if seen else LEAST_UNSEEN) * len(made)),
        ("kinds in which one is caught", str(len(kinds)), f"≥ {LEAST_KINDS}", len(kinds) >= LEAST_KINDS),
        ("right answers flagged", _part(flagged, len(made)), f"≤ {MOST_RIGHT:.0%}", flagged <= MOST_RIGHT * len(made)),
        ("confidence higher on the wrong one", _part(higher, len(made)), f"≤ {MOST_CONFIDENT:.0%}",
         higher <= MOST_CONFIDENT * len(made)),
    ]  # fmt: skip
    if told is not None:
        each = max((told.share(one), one) for one in MECHANISMS)
        rows += [
            ("recorded right messages flagged", f"{told.share('all'):.2%}", f"≤ {MOST_IN_ALL:.0%}",
             told.share("all") <= MOST_IN_ALL),
            ("the mechanism that flags most of them", f"{each[0]:.2%} ({each[1]})", f"≤ {MOST_EACH:.1%}",
             each[0] <= MOST_EACH),
        ]  # fmt: skip
    print(f"\n{name} against what was wanted:\n\n| figure | value | goal | |\n|---|---|---|---|")
    for what, value, goal, holds in rows:
        print(f"| {what} | {value} | {goal} | {'met' if holds else '**missed**'} |")


def _tell_scores(name: str, made: list[Score], *, show: bool) -> None:
    caught = [score for score in made if score.caught]
    any_point = sum(bool(score.wrong) for score in made)
    flagged = [score for score in made if score.right]
    print(f"\n{name}: {len(made)} pairs, {len(caught)} caught with the right quotes ({_part(len(caught), len(made))}), "
          f"{any_point} with any; of the right answers {len(flagged)} flagged "
          f"({_part(len(flagged), len(made))}).\n")  # fmt: skip
    asked = sum(asks_for_a_revision(score.pair.material(score.pair.right)) for score in made)
    print(f"The whole critique asks for a revision of {asked} of the right answers.\n")
    print("| kind | pairs | caught | right flagged |\n|---|---|---|---|")
    for kind in KINDS:
        of_kind = [score for score in made if score.pair.kind == kind]
        if of_kind:
            print(
                f"| {kind} | {len(of_kind)} | {sum(one.caught for one in of_kind)} | "
                f"{sum(bool(one.right) for one in of_kind)} |"
            )
    by: Counter[str] = Counter()
    wrongly: Counter[str] = Counter()
    for score in made:
        by.update({mechanism for mechanism, point in score.wrong if quotes_are_right(score.pair, point)})
        wrongly.update({mechanism for mechanism, _ in score.right})
    print("\n| mechanism | caught | of all pairs | right flagged |\n|---|---|---|---|")
    for mechanism in MECHANISMS:
        print(f"| {mechanism} | {by[mechanism]} | {_part(by[mechanism], len(made))} | {wrongly[mechanism]} |")
    for score in made if show else ():
        if not score.caught or score.right:
            _show(score)


def _show(score: Score) -> None:
    pair = score.pair
    print(f"\n--- {pair.id} {pair.kind}{'' if score.caught else ' MISSED'}{' RIGHT FLAGGED' if score.right else ''}")
    print(f"request: {pair.request}")
    for tool in pair.tools:
        evidence = tool.evidence
        print(
            f"  {evidence.tool}({evidence.arguments[:300]}){' FAILED' if evidence.failed else ''}: "
            f"{evidence.text[:1500]}"
        )
    print(f"wrong: {pair.wrong}\nright: {pair.right}\nquotes: {pair.answer_quote!r} | {pair.record_quote!r}")
    for name, points in (("wrong", score.wrong), ("right", score.right)):
        for mechanism, point in points:
            print(f"  {name}: {mechanism} {point.quote!r} | {point.against!r}")


def _part(some: int, of: int) -> str:
    return f"{some / of:.1%}" if of else "-"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.pointing")
    parser.add_argument("--unseen", action="store_true", help="score the unseen pairs instead of the seen: once")
    parser.add_argument("--blind", action="store_true", help="score all pairs of a folder that nobody has read: once")
    parser.add_argument(
        "--part", choices=list(Part), default=Part.TUNING, help="which messages; the reserved ones once"
    )
    parser.add_argument("--pairs", type=Path, default=FOLDER, help="the folder of pairs")
    parser.add_argument("--made", action="store_true", help="score made pairs too")
    parser.add_argument("--show", action="store_true", help="show alarms, and seen pairs that were missed")
    given = parser.parse_args()
    told = None
    if DATA.is_dir():
        messages = list(right_messages(Part(given.part)))
        told = alarms(messages)
        _tell_alarms(told, show=given.show)
        asked = sum(asks_for_a_revision(message.materials[0]) for message in messages)
        print(f"\nThe whole critique asks for a revision of {asked} of them ({_part(asked, len(messages))}).")
        if given.made:
            _tell_scores("Made of recorded messages", scores(made_pairs(messages)), show=given.show)
    else:
        sys.stdout.write("skipped: no recorded data in ../shared/data\n")
    seen = not (given.unseen or given.blind)
    name = "Seen" if seen else "Unseen"
    made = scores(pair for pair in all_pairs(given.pairs) if given.blind or pair.is_seen is seen)
    _tell_scores(name, made, show=given.show and seen)
    _tell_goals(told, name, made, seen=seen)


if __name__ == "__main__":
    main()
