"""`uv run python -m bench.prior`: could a confidence without a model be told from the form of an answer?

The recorded answers with a known outcome (`../shared/data/critique/outcome_labelled`) are HotpotQA alone: the same
questions under nine runs of three families. So each answer is predicted by a logistic regression that saw neither its
run nor its question. "Families out" saw no run of its family either. Intervals are over draws of questions, because
answers to one question resemble each other.

A confidence of kind `prior` may be told only if all goals hold (decision 084): the area under the ROC curve (AUC), the
same by lenient labels (the gold answer is contained, or shares its words with an F1 of at least .6), the Brier score,
and the expected calibration error (ECE) in ten bins. A perfectly calibrated forecaster has such an error too: it is
simulated with the same probabilities, and outcomes that hang together within a question as much as those recorded.

Questions in the part for tuning are predicted, or with `--aside` the reserved ones, by a model that was fitted to the
others: that is done once, at the end. The features read the question, the tool results and the answer alone.
"""

import argparse
import math
import re
import statistics
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bench.split import Part, group_of, known_groups, part_of
from sidemirror_server.critique.material import CritiqueMaterial, ToolEvidence, evidence_of
from sidemirror_server.models.adapters.rules.response import Response
from sidemirror_server.models.adapters.rules.support import gives_several
from tests.recorded import DATA, read_rows

Floats = np.ndarray[Any, np.dtype[np.float64]]

WANTED_AUC, WANTED_LENIENT_AUC = 0.79, 0.70
_LENIENT_F1 = 0.6
_RIDGE = 3.0
_BINS, _DRAWS, _STEPS = 10, 2_000, 30
_ID = re.compile(r"(?P<run>reflexion-hotpot-(?P<family>cot-ctx|cot-noctx|react)-[a-z-]+)-[0-9a-f]+-trial1")
_DECLINES = re.compile(r"none\b|unknown|n/?a\b|not |cannot|unable|unclear", re.IGNORECASE)
_ASKS_YES_OR_NO = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can|could)\b", re.IGNORECASE)
_ASKS_A_NUMBER = re.compile(r"\b(?:(?:what|which) year|when|how many|how much|how old)\b", re.IGNORECASE)
_HEDGES = re.compile(r"\b(?:might|may|perhaps|probably|possibly|likely|seems|appears|however|assum\w+|guess)\b", re.I)


class Answer(NamedTuple):
    """One recorded answer. `right`, `nearly`: by exact match, and by the lenient labels."""

    run: str
    family: str
    question: str
    features: tuple[float, ...]
    length: int
    right: bool
    nearly: bool


FEATURES: tuple[tuple[str, Callable[[Response], float]], ...] = (
    ("words of the answer", lambda one: math.log1p(len(one.final.split()))),
    ("words of the answer beside the question's", lambda one: min(len(one.answer_words), 8)),
    ("letters of the whole response", lambda one: math.log1p(len(one.text))),
    ("answer stands in the material", lambda one: float(one.answer_is_given)),
    ("answer stands in the question", lambda one: float(one.final.casefold() in one.asked.casefold())),
    ("there is material", lambda one: float(bool(one.material.strip()))),
    ("names of the question in the material", lambda one: one.covered),
    ("unsupported names and numbers", lambda one: min(len(one.unsupported), 6)),
    ("several answers for one", lambda one: float(gives_several(one))),
    ("declines", lambda one: float(bool(_DECLINES.match(one.final)))),
    ("yes or no, as asked", lambda one: float(_says_yes_or_no(one) and bool(_ASKS_YES_OR_NO.match(one.asked)))),
    ("no number where one is asked for", lambda one: float(_lacks_number(one))),
    ("hedges", lambda one: min(len(_HEDGES.findall(one.text)), 3)),
    ("failed calls", lambda one: min(len(one.failed), 3)),
)


def _says_yes_or_no(response: Response) -> bool:
    return response.final.casefold() in {"yes", "no"}


def _lacks_number(response: Response) -> bool:
    return bool(_ASKS_A_NUMBER.search(response.asked)) and not re.search(r"\d", response.final)


def answers(part: Part) -> list[Answer]:
    """The answers to the questions of a part."""
    known = known_groups(DATA)
    found = []
    for row in read_rows(DATA / "critique" / "outcome_labelled.jsonl.gz"):
        question = group_of(row, known)
        named = _ID.fullmatch(row["item_id"])
        if named is None:
            raise ValueError(f"a run of no known family: {row['item_id']}")
        if part_of(question) is not part:
            continue
        results = tuple(ToolEvidence("search", text, text.startswith("Could not find")) for text in row["tool_results"])
        material = CritiqueMaterial(row["prompt"], row["response"], results)
        response = Response(evidence_of(material), material.response)
        features = tuple(float(feature(response)) for _, feature in FEATURES)
        nearly = row["correct"] or is_nearly(response.final, row["gold"])
        found.append(
            Answer(named["run"], named["family"], question, features, len(response.final), row["correct"], nearly)
        )
    return found


def is_nearly(said: str, gold: str) -> bool:
    """Whether an answer is right by the lenient labels."""
    mine, its = _plain(said), _plain(gold)
    if not its or not mine:
        return mine == its
    common = sum((Counter(mine) & Counter(its)).values())
    f1 = 2 * common / (len(mine) + len(its))
    return f" {' '.join(its)} " in f" {' '.join(mine)} " or f1 >= _LENIENT_F1


def _plain(text: str) -> list[str]:
    """The words that HotpotQA's own scoring compares: without case, punctuation and articles."""
    bare = "".join(letter for letter in text.casefold() if letter not in string.punctuation)
    return [word for word in bare.split() if word not in {"a", "an", "the"}]


def _predicted(train: Sequence[Answer], test: Sequence[Answer]) -> Floats:
    """Probabilities of a ridge regression on standardised features."""
    matrix = np.array([one.features for one in train])
    mean, spread = matrix.mean(0), matrix.std(0)
    spread[spread == 0] = 1.0

    def standard(some: Sequence[Answer]) -> Floats:
        return np.hstack([np.ones((len(some), 1)), (np.array([one.features for one in some]) - mean) / spread])

    rows, labels = standard(train), np.array([float(one.right) for one in train])
    ridge = _RIDGE * np.eye(rows.shape[1])
    ridge[0, 0] = 1e-6
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        chance = _sigmoid(rows @ weights)
        curve = (rows * (chance * (1 - chance))[:, None]).T @ rows + ridge
        step = np.linalg.solve(curve, rows.T @ (chance - labels) + ridge @ weights)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    return _sigmoid(standard(test) @ weights)


def _sigmoid(odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-odds)))


class Forecast(NamedTuple):
    """Probabilities of the answers, and the share of right ones that each fit saw."""

    chance: Floats
    base: Floats


def forecast(known: Sequence[Answer], asked: Sequence[Answer], *, families: bool) -> Forecast:
    """Each answer predicted from those of `known` of another run (or family) and to another question."""
    chance, base = np.zeros(len(asked)), np.zeros(len(asked))
    cells: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, one in enumerate(asked):
        cells[one.family if families else one.run, one.question].append(place)
    for (source, question), places in cells.items():
        train = [one for one in known if (one.family if families else one.run) != source and one.question != question]
        chance[places] = _predicted(train, [asked[place] for place in places])
        base[places] = statistics.mean(one.right for one in train)
    return Forecast(chance, base)


def auc(scores: Floats, labels: Floats) -> float:
    """How often a right answer has the higher score; half for a tie. NaN where all have one label."""
    right, wrong = scores[labels > 0], scores[labels == 0]
    if not len(right) or not len(wrong):
        return math.nan
    differences = right[:, None] - wrong[None, :]
    return float(((differences > 0) + (differences == 0) / 2).mean())


def ece(chance: Floats, labels: Floats) -> float:
    """The expected calibration error in ten bins of equal width."""
    bins = np.minimum((chance * _BINS).astype(int), _BINS - 1)
    parts = [abs(chance[bins == one].sum() - labels[bins == one].sum()) for one in range(_BINS)]
    return float(sum(parts) / len(chance))


def _places(asked: Sequence[Answer]) -> list[Floats]:
    by: defaultdict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(asked):
        by[one.question].append(place)
    return [np.array(places) for places in by.values()]


def hanging_together(chance: Floats, labels: Floats, questions: Sequence[Floats]) -> float:
    """The mean correlation of two outcomes of one question, as that of the normal variables behind them."""
    residuals = (labels - chance) / np.sqrt(chance * (1 - chance))
    products = [
        residuals[one] * residuals[other]
        for places in questions
        for at, one in enumerate(places)
        for other in places[:at]
    ]
    return float(np.clip(math.sin(math.pi / 2 * float(np.clip(np.mean(products), 0, 1))), 0.0, 0.99))


def ece_of_the_calibrated(chance: Floats, together: float, questions: Sequence[Floats]) -> float:
    """The 95th percentile of the error of a forecaster whose probabilities are true."""
    random = np.random.default_rng(15)
    least = np.array([statistics.NormalDist().inv_cdf(1 - float(one)) for one in np.clip(chance, 1e-6, 1 - 1e-6)])
    found = []
    for _ in range(_DRAWS):
        drawn = math.sqrt(1 - together) * random.standard_normal(len(chance))
        for places in questions:
            drawn[places] += math.sqrt(together) * random.standard_normal()
        found.append(ece(chance, (drawn > least).astype(float)))
    return float(np.percentile(found, 95))


def _interval(asked: Sequence[Answer], figure: Callable[[Floats], float]) -> tuple[float, float]:
    """The 95 % interval of a figure over draws of questions; `figure` takes the places of answers."""
    random, questions = np.random.default_rng(15), _places(asked)
    drawn = [
        figure(np.concatenate([questions[one] for one in random.integers(0, len(questions), len(questions))]))
        for _ in range(_DRAWS)
    ]
    return float(np.nanpercentile(drawn, 2.5)), float(np.nanpercentile(drawn, 97.5))


def _tell(asked: Sequence[Answer], made: Forecast) -> bool:
    """Prints every figure with its goal, and returns whether all of them hold."""
    right = np.array([float(one.right) for one in asked])
    nearly = np.array([float(one.nearly) for one in asked])
    shorter = np.array([-float(one.length) for one in asked])
    questions, chance = _places(asked), made.chance
    own, short = auc(chance, right), auc(shorter, right)
    low, high = _interval(asked, lambda places: auc(chance[places], right[places]))
    gain = _interval(asked, lambda at: auc(chance[at], right[at]) - auc(shorter[at], right[at]))
    lenient = auc(chance, nearly)
    lenient_low, lenient_high = _interval(asked, lambda places: auc(chance[places], nearly[places]))
    brier, of_base = float(((chance - right) ** 2).mean()), float(((made.base - right) ** 2).mean())
    brier_gain = _interval(asked, lambda at: float((((made.base - right) ** 2) - ((chance - right) ** 2))[at].mean()))
    error, together = ece(chance, right), hanging_together(chance, right, questions)
    most = ece_of_the_calibrated(chance, together, questions)
    figures: Iterable[tuple[str, str, str, bool]] = (
        ("AUC", f"{own:.3f} ({low:.3f} to {high:.3f})", f"≥ {WANTED_AUC}", own >= WANTED_AUC),
        ("its lower bound", f"{low:.3f}", f"> {short:.3f}, shorter answer", low > short),
        ("AUC, lenient labels", f"{lenient:.3f} ({lenient_low:.3f} to {lenient_high:.3f})", f"≥ {WANTED_LENIENT_AUC}",
         lenient >= WANTED_LENIENT_AUC),
        ("Brier score", f"{brier:.3f}", f"< {of_base:.3f}, base rate", brier < of_base),
        ("ECE", f"{error:.3f}", f"< {most:.3f}, calibrated", error < most),
    )  # fmt: skip
    print("| figure | value | goal | |\n|---|---|---|---|")
    for name, value, goal, holds in figures:
        print(f"| {name} | {value} | {goal} | {'met' if holds else '**missed**'} |")
    print(f"\nAUC above that of the shorter answer: {own - short:+.3f} ({gain[0]:+.3f} to {gain[1]:+.3f}); by lenient "
          f"labels the shorter answer has {auc(shorter, nearly):.3f}. Brier below the base rate's: "
          f"{of_base - brier:+.3f} ({brier_gain[0]:+.3f} to {brier_gain[1]:+.3f}). Outcomes of a question hang "
          f"together by {together:.2f}.\n"
          )  # fmt: skip
    return all(holds for *_, holds in figures)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.prior")
    parser.add_argument("--aside", action="store_true", help="predict the reserved questions: once, at the end")
    options = parser.parse_args()
    if not DATA.is_dir():
        print("skipped: no recorded data in ../shared/data")
        return
    known = answers(Part.TUNING)
    asked = answers(Part.RESERVED) if options.aside else known
    for families in (False, True):
        print(f"{'Families' if families else 'Runs'} and their questions out: {len(asked)} answers to "
              f"{len(_places(asked))} questions, {sum(one.right for one in asked)} right, "
              f"{sum(one.nearly for one in asked)} by lenient labels.\n")  # fmt: skip
        holds = _tell(asked, forecast(known, asked, families=families))
        if not families:
            print(f"All goals hold: {'yes' if holds else 'no; so no confidence of kind prior is told'}.\n")


if __name__ == "__main__":
    main()
