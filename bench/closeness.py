"""`uv run python -m bench.closeness`: what of a search's CPU time goes to measuring its candidates closely.

Of each recorded retrieval set (`../shared/data`, the part for tuning) some questions are asked, of all lessons in this
process. "Words": the 200 best candidates scored by their words. "Closely": the same ones measured by
`vocabulary/closeness.py`, "anew" with nothing remembered of any candidate, and "again" with the candidates read before.
CPU time is little disturbed by other work on the machine; `bench.retrieval --costs` has the time of whole searches.
"""

import argparse
import statistics
import time
from collections.abc import Callable

from bench.retrieval import queries_of
from bench.split import Part
from sidemirror_server.vocabulary import closeness as rule
from sidemirror_server.vocabulary.bm25 import Field, chosen, scorer
from sidemirror_server.vocabulary.terms import asked_terms, terms_of
from tests.memory.retrieval import SETS, records
from tests.recorded import DATA


def _cpu_ms(done: Callable[[], object]) -> float:
    began_s = time.process_time()
    done()
    return 1_000 * (time.process_time() - began_s)


def _told(name: str, most: int) -> str:
    terms = [terms_of(one.content) for one in records(name, with_task=False)]
    having: dict[str, int] = {}
    for text in terms:
        for term in set(text.split()):
            having[term] = having.get(term, 0) + 1
    field = Field(len(terms), sum(len(text.split()) for text in terms))
    every = queries_of(name, Part.TUNING)
    some = every[:: max(1, len(every) // most)][:most]
    took: dict[str, list[float]] = {"words": [], "anew": [], "again": []}
    for query in some:
        asked, said = asked_terms(query["query"]), terms_of(query["query"]).split()
        weights = {term: asked[term] for term in chosen(asked, having, len(terms))}
        score = scorer(weights, having, field)
        best = sorted(((score(text), text) for text in terms), reverse=True)[: rule.CANDIDATES]
        found = [(words, text) for words, text in best if words > 0]
        texts, words = [text for _, text in found], [one for one, _ in found]
        took["words"].append(_cpu_ms(lambda: list(map(score, texts))))  # noqa: B023 - called at once
        rule._remembered.cache_clear()  # noqa: SLF001 - what is measured
        for way in ("anew", "again"):
            took[way].append(_cpu_ms(lambda: rule.closeness(asked, said, texts, words)))  # noqa: B023 - called at once
    cells = [f"{statistics.mean(ms):.1f} ms" for ms in took.values()]
    return f"| {name} | {len(some)} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.closeness")
    parser.add_argument("--queries", type=int, default=30, help="questions of each set (default: 30)")
    options = parser.parse_args()
    if not DATA.is_dir():
        print("skipped: no recorded data in ../shared/data")
        return
    print("| set | questions | words | closely, anew | closely, again |\n|---|---|---|---|---|")
    for name in SETS:
        print(_told(name, options.queries), flush=True)


if __name__ == "__main__":
    main()
