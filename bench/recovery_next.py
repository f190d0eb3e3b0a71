"""Which step comes next after a failing call: three baselines and recoveries, for `bench/recoveries.py`.

A case is a failing call whose next call is of another label than the failed one. Everybody learns from all such cases
of the training half, and is asked about those of the other half that were recovered: the same tool worked again within
five calls. Everybody knows that the failing call's own label does not come next.

- tool: what most often came next after failures of this tool.
- signature: what most often came next after this signature, then as `tool`.
- five episodes: the nearest five earlier episodes by words (BM25 over task, calls and results, asked with the episode
  as far as it went), each with what came next after a failure of the tool, one of the same signature if there is one.
- five failures: the same with failing calls in the place of episodes: task, call and error.
- recoveries: what followed in observation rows, of the signature, backed off to the call's label and to the tool. The
  product's advice does not back off; this is a prediction. Rows name known programs only, and so it names no others.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bench.recovery_runs import Run
from sidemirror_server.memory.kin.signature import tool_of
from sidemirror_server.memory.recoveries.asked import OTHER_TEXT, Asked
from sidemirror_server.memory.recoveries.observation import Observation
from sidemirror_server.memory.recoveries.reviewed_lookups import LOOKUPS, Reads
from sidemirror_server.memory.recoveries.signed import failure_signature
from sidemirror_server.vocabulary.bm25 import part, telling
from sidemirror_server.vocabulary.terms import terms_of

_RECOVERED_WITHIN = 5
_NEAREST = 5
_RESULT_CHARS = 1_000
# How many observations the less specific level counts as, when levels are mixed. Chosen on the tuning part, where 1 to
# 3 differ by less than 0.01.
_PRIOR = 2.0
_RESAMPLES = 2_000

_KINDS = {
    "changes": "mkdir touch cp mv rm ln tee tar zip gzip chmod chown insert update delete create alter drop",
    "transforms": "echo printf awk sed tr cut sort uniq xargs",
    "runs": "bash sh python python3 perl if for while eval source",
    "network": "curl wget ping nc ssh",
    "queries": "select with",
    "installs": "apt-get apt pip sudo yum",
    "session": "set use cd export",
    "ends": "submit skip <text>",
}
_KIND_OF = {label: kind for kind, labels in _KINDS.items() for label in labels.split()}
_LOOKS = {Reads.CONTENT: "reads", Reads.USAGE: "reads"}

Ranking = Callable[["Case"], list[str]]


class Case(NamedTuple):
    """A failing call. `asked`: the words of the episode as far as it went."""

    episode_id: str
    group: str
    tool: str
    label: str
    signature: str
    next_label: str
    is_recovered: bool
    failure_terms: tuple[str, ...]
    episode_terms: tuple[str, ...]
    asked_terms: tuple[str, ...]


class Scores(NamedTuple):
    """Of one method: for each case its group, and the hits at 1 and in 3 by label, and by kind."""

    group: str
    hits: tuple[bool, bool, bool, bool]


def kind_of(label: str) -> str:
    """What a step does: looks what there is, reads, queries, changes, transforms, runs, and so on."""
    if label in LOOKUPS:
        return _LOOKS.get(LOOKUPS[label].reads, "looks")
    return _KIND_OF.get(label.lower(), "program")


def cases_of(runs: Iterable[Run]) -> list[Case]:
    """The cases of runs, in their order."""
    found = []
    for run in runs:
        words = [_terms(run.task), *(_terms(f"{one.asked.text} {one.result[:_RESULT_CHARS]}") for one in run.steps)]
        episode = tuple(term for terms in words for term in terms)
        for at, step in enumerate(run.steps[:-1]):
            after = run.steps[at + 1 : at + 1 + _RECOVERED_WITHIN]
            if not step.failed or _exact(after[0].asked) == _exact(step.asked):
                continue
            signature = failure_signature(step.asked, step.result)
            label, next_label = _exact(step.asked), _exact(after[0].asked)
            recovered = any(not one.failed and one.asked.tool == step.asked.tool for one in after)
            so_far = tuple(term for terms in words[: at + 2] for term in terms)
            found.append(
                Case(
                    *(run.episode_id, run.group, step.asked.tool, label, signature, next_label),
                    recovered,
                    (*words[0], *words[at + 1]),
                    episode,
                    so_far,
                )
            )
    return found


def _exact(asked: Asked) -> str:
    """The label, or the first word that the product does not keep."""
    return asked.verb if asked.label == OTHER_TEXT else asked.label


def _terms(text: str) -> tuple[str, ...]:
    return tuple(terms_of(text).split())


def by_tool(train: Sequence[Case], _rows: Sequence[Observation]) -> Ranking:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for case in train:
        counts[case.tool][case.next_label] += 1
    return lambda case: _ranked(counts[case.tool], case)


def by_signature(train: Sequence[Case], rows: Sequence[Observation]) -> Ranking:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for case in train:
        counts[case.signature][case.next_label] += 1
    otherwise = by_tool(train, rows)
    return lambda case: _joined(_ranked(counts[case.signature] if case.signature else {}, case), otherwise(case))


def by_five_episodes(train: Sequence[Case], _rows: Sequence[Observation]) -> Ranking:
    return _by_nearest(train, [case.episode_terms for case in train], lambda case: case.asked_terms)


def by_five_failures(train: Sequence[Case], _rows: Sequence[Observation]) -> Ranking:
    return _by_nearest(train, [case.failure_terms for case in train], lambda case: case.failure_terms)


def _by_nearest(
    train: Sequence[Case], texts: Sequence[tuple[str, ...]], asked: Callable[[Case], tuple[str, ...]]
) -> Ranking:
    otherwise = by_tool(train, ())
    index = _Index(texts)

    def ranking(case: Case) -> list[str]:
        votes: Counter[str] = Counter()
        best: dict[str, tuple[float, bool, str]] = {}
        for at, score in index.scores(asked(case)).items():
            other = train[at]
            if other.tool == case.tool and other.next_label != case.label:
                found = (score, bool(case.signature) and other.signature == case.signature, other.next_label)
                # One vote an episode; of equal texts the failure of the same signature.
                best[other.episode_id] = max(best.get(other.episode_id, found), found)
        for place, (_, _, label) in enumerate(sorted(best.values(), reverse=True)[:_NEAREST]):
            votes[label] += 1_000 - place  # of equally many votes the nearest
        return _joined(_ranked(votes, case), otherwise(case))

    return ranking


class _Index:
    """BM25 over some texts."""

    def __init__(self, texts: Sequence[tuple[str, ...]]) -> None:
        mean_terms = sum(map(len, texts)) / max(1, len(texts))
        having: Counter[str] = Counter(term for terms in texts for term in set(terms))
        self._parts: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for at, terms in enumerate(texts):
            for term, times in Counter(terms).items():
                tells = telling(len(texts), having[term])
                self._parts[term].append((at, part(1.0, tells, times, len(terms), mean_terms)))

    def scores(self, asked: Iterable[str]) -> Mapping[int, float]:
        found: dict[int, float] = defaultdict(float)
        for term in sorted(set(asked)):
            for at, score in self._parts.get(term, ()):
                found[at] += score
        return found


def by_recoveries(_train: Sequence[Case], rows: Sequence[Observation]) -> Ranking:
    levels: tuple[dict[object, Counter[str]], ...] = (defaultdict(Counter), defaultdict(Counter), defaultdict(Counter))
    for row in rows:
        if row.then and row.then[0] != row.label:
            tool = tool_of(row.signature)
            for level, key in zip(levels, (tool, (tool, row.label), row.signature), strict=True):
                level[key][row.then[0]] += 1

    def ranking(case: Case) -> list[str]:
        shares: dict[str, float] = {}
        for level, key in zip(levels, (case.tool, (case.tool, case.label), case.signature), strict=True):
            counts = {label: times for label, times in level[key].items() if label != case.label}
            total = sum(counts.values()) + _PRIOR
            shares = {
                label: (counts.get(label, 0) + _PRIOR * shares.get(label, 0.0)) / total
                for label in counts.keys() | shares.keys()
            }
        return _ranked(shares, case)

    return ranking


METHODS: Mapping[str, Callable[[Sequence[Case], Sequence[Observation]], Ranking]] = {
    "tool's most common": by_tool,
    "counts per signature": by_signature,
    "nearest five episodes": by_five_episodes,
    "nearest five failures": by_five_failures,
    "recoveries": by_recoveries,
}


def scores_of(ranking: Ranking, cases: Iterable[Case]) -> Iterator[Scores]:
    """The hits of a method."""
    for case in cases:
        labels = ranking(case)
        kinds = list(dict.fromkeys(map(kind_of, labels)))
        kind = kind_of(case.next_label)
        yield Scores(case.group, (*_hits(labels, case.next_label), *_hits(kinds, kind)))


def difference(ours: Sequence[Scores], theirs: Sequence[Scores], at: int) -> tuple[float, float, float]:
    """The mean difference of a hit, with its interval (95 %) by a bootstrap over groups."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one, other in zip(ours, theirs, strict=True):
        sums[one.group][0] += one.hits[at] - other.hits[at]
        sums[one.group][1] += 1
    groups = sorted(sums)
    draw = random.Random(0)
    means = []
    for _ in range(_RESAMPLES):
        drawn = [sums[group] for group in draw.choices(groups, k=len(groups))]
        means.append(sum(gained for gained, _ in drawn) / sum(asked for _, asked in drawn))
    means.sort()
    mean = sum(gained for gained, _ in sums.values()) / sum(asked for _, asked in sums.values())
    return mean, means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES)]


def _hits(ranked: Sequence[str], wanted: str) -> tuple[bool, bool]:
    return wanted in ranked[:1], wanted in ranked[:3]


def _ranked(counts: Mapping[str, float], case: Case) -> list[str]:
    """The labels, the commonest first, without the failing call's own; of equal ones by name."""
    return sorted((label for label in counts if label != case.label), key=lambda label: (-counts[label], label))


def _joined(first: list[str], then: list[str]) -> list[str]:
    return [*first, *(label for label in then if label not in first)]
