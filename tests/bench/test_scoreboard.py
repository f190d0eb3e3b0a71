"""The scoreboard's measures on tiny sizes through Sidemirror's own adapter, and what is printed of results."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import environments
from bench.scoreboard import finding, results
from bench.scoreboard.__main__ import main, measured, run
from bench.scoreboard.plots import plots
from bench.scoreboard.results import Cell, Results
from bench.scoreboard.rows import MEASURES, QUICK, ROWS, SETS
from bench.scoreboard.running import CONTENDERS, Ended, Place

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "bench/scoreboard/results"
TINY = QUICK._replace(queries=0, kills=1, replays=3, echoes=3, canaries=3, lives=1, tasks=5, kept=10, turns=2)
QUICKLY = ("erasure",)
RECORDED = {f"{figure}-{name}" for name in SETS[2:] for figure in ("recall", "hit")}
# Of a clone that has to be named.
PUBLIC = {"precision-procedures", "hit-procedures"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(CONTENDERS["sidemirror"], tmp_path_factory.mktemp("scoreboard") / "own", "")


@pytest.mark.parametrize(
    "measure",
    [one if one in QUICKLY else pytest.param(one, marks=pytest.mark.slow("a sidecar settles")) for one in MEASURES],
)
def test_a_measure_has_all_its_figures(place: Place, measure: str) -> None:
    """Seen to fail with a verb of another name: the cells said that the contender had ended."""
    cells = {one.row: one for one in measured(place, "sidemirror", measure, TINY)}
    assert set(cells) == {name for name, row in ROWS.items() if row.measure == measure} - RECORDED - PUBLIC
    assert {name: one.detail for name, one in cells.items() if one.value is None} == {}


@pytest.mark.slow("a sidecar is killed, and starts again")
def test_what_is_acknowledged_before_a_kill_is_there_after_it(place: Place) -> None:
    data = place.new_folder()
    with place.opened(data) as running:
        (one,) = running("keep", user="user", texts=["The lift is out of order."])
        running.kill()
        with pytest.raises(Ended):
            running("kept", user="user")
    with place.opened(data) as running:
        assert running("kept", user="user") == [one]


def test_what_cannot_be_had_has_cells_that_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail when `run` lets Unavailable through: there was no table at all."""
    monkeypatch.setattr("bench.environments.shutil.which", lambda _name: None)
    cells = list(run(["harm"], ["mem0"], TINY, tmp_path))
    assert cells == [Cell("harm-tasks", "mem0", None, "not run: uv is not there")]


def test_the_table_says_who_is_best_and_what_is_lost() -> None:
    cells = (
        Cell("grown", "sidemirror", 3.0), Cell("grown", "mem0", 1.0),
        Cell("lost", "sidemirror", 0.0), Cell("lost", "mem0", 0.0),
        Cell("harm-tasks", "sidemirror", 80.0), Cell("harm-tasks", "mem0", None, "takes no outcomes"),
    )  # fmt: skip
    told = results.table(Results("1", "", True, {"sidemirror": "Sidemirror", "mem0": "mem0"}, cells, {"mem0": "2"}))
    assert "| memories after the same episode again and again (less is better) | 3 | **1** |" in told
    assert "| tasks until a harmful lesson is gone, median (less is better) | **80** | takes no outcomes |" in told
    lost, tied = told.partition("**A peer is better")[2].split("**The best peer is as good**")
    assert "same episode again and again: 3 against 1" in lost
    assert "gone after kill -9: 0" in tied
    assert "harmful" not in lost + tied
    assert told.endswith("- mem0: 2, the others: 1")


def test_what_is_measured_again_replaces_what_it_was() -> None:
    earlier = Results("1", "", False, {"mem0": "a", "x": "b"}, (Cell("lost", "x", 1.0), Cell("lost", "mem0", 1.0)))
    again = Results("2", "", False, {"mem0": "c"}, ())
    kept = results.with_earlier(again, earlier, ["lost"], ["mem0"])
    assert (kept.contenders, kept.cells) == ({"mem0": "c", "x": "b"}, (Cell("lost", "x", 1.0),))


def test_who_is_measured_later_has_a_day_of_its_own() -> None:
    """Seen to fail when the later day was everybody's."""
    earlier = Results("1", "", False, {"x": "b"}, (), {"x": "0"})
    later = results.with_earlier(Results("2", "", False, {"mem0": "c"}, ()), earlier, ["lost"], ["mem0"])
    assert (later.day, later.apart) == ("1", {"x": "0", "mem0": "2"})
    both = results.with_earlier(Results("3", "", False, {"x": "b", "mem0": "c"}, ()), later, ["lost"], ["x", "mem0"])
    assert (both.day, both.apart) == ("3", {})


def test_an_interpreter_that_is_not_there_is_asked_of_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail with every peer on Python 3.11: what needs a later one was not run."""
    monkeypatch.setattr("bench.environments.Path.home", lambda: tmp_path)
    asked = list[list[str]]()

    def run(command: list[str]) -> str:
        asked.append(command[1:])
        return "[]"

    monkeypatch.setattr("bench.environments._run", run)
    environments.made("mem0", tmp_path, wanted="3.12")
    assert asked[1][:4] == ["venv", "--quiet", "--python", "3.12"]
    hidden = tmp_path / ".pyenv/versions/3.12.1/bin/python"
    hidden.parent.mkdir(parents=True)
    hidden.touch()
    environments.made("mem0", tmp_path, wanted="3.12")
    assert asked[4][3] == str(hidden)


def test_two_runs_are_compared_where_both_measured() -> None:
    """Seen to fail with every cell of the longer run in the table, each beside None."""
    names, lost, grown = {"mem0": "a", "x": "b"}, Cell("lost", "x", 1.0), Cell("grown", "mem0", 1.0)
    first = Results("1", "", False, names, (lost, grown, Cell("residue", "mem0", 0.0)))
    second = Results("2", "", False, names, (Cell("lost", "x", 2.0), grown, Cell("harm-tasks", "x", 5.0)))
    told = results.differences(first, second).splitlines()
    assert told[2:] == [
        f"| {ROWS['lost'].title} | b | 1 | 2 |",
        "",
        "The same in both: 1 of 2 cells.",
        "",
        "Measured in one of the runs only: 2 cells.",
    ]


def test_two_whole_runs_by_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an earlier command left is in neither. Seen to fail when the files were not removed first."""
    figures = iter((1.0, 2.0))
    monkeypatch.setattr("bench.scoreboard.__main__.run", lambda *_: [Cell("lost", "mem0", next(figures))])
    results.write(Results("1", "", False, {"x": "y"}, (Cell("grown", "mem0", 7.0),)), tmp_path / "first.json")
    monkeypatch.setattr("sys.argv", ["bench.scoreboard", "--quick", "--who", "mem0", "--twice", str(tmp_path)])
    main()
    first, second = (results.read(tmp_path / f"{name}.json") for name in ("first", "second"))
    assert (first.cells, second.cells) == ((Cell("lost", "mem0", 1.0),), (Cell("lost", "mem0", 2.0),))
    assert (first.quick, list(first.contenders)) == (True, ["mem0"])
    printed = capsys.readouterr().out
    assert printed.startswith(results.table(first))
    assert printed.endswith(f"{results.differences(first, second)}\n")


@pytest.mark.slow("a sidecar settles")
def test_a_clone_of_procedures_is_asked(place: Place, tmp_path: Path) -> None:
    """Two of three trajectories are right."""
    inside = tmp_path / "procedural_memory_benchmark"
    for folder in ("data/corpus", "benchmark/data"):
        (inside / folder).mkdir(parents=True)
    tasks = ("put a mug on the shelf", "put a cup on the shelf", "heat an egg")
    told = [
        {"task_instance_id": f"t{at}", "task_description": task, "state_action_pairs": [{"state": "s", "action": "a"}]}
        for at, task in enumerate(tasks)
    ]
    right = [{"trajectory_id": one, "relevance_score": 9} for one in ("t0", "t1")]
    asked = [{"query_text": "Put a mug on the shelf", "relevant_trajectories": right}]
    (inside / "data/corpus/agentinstruct_trajectories.json").write_text(json.dumps({"trajectories": told}))
    (inside / "benchmark/data/query_bank.json").write_text(json.dumps({"queries": asked}))
    with place.opened() as running:
        found = {one.row: one.value for one in finding.procedural(running, tmp_path, 40)}
    assert found == {"precision-procedures": 2 / 5, "hit-procedures": 1.0}


@pytest.mark.slow("two sidecars settle")
def test_what_is_held_back_is_the_same_in_each_run(place: Place) -> None:
    """Without ids of the adapter's own the right repair was told for 8 failures in one run, for 9 in the next."""
    first, second = (list(measured(place, "sidemirror", "repair", TINY)) for _ in range(2))
    assert first == second


def test_the_page_names_each_measure_as_the_command_does() -> None:
    told = (ROOT / "docs/scoreboard.md").read_text("utf-8").partition("## How to read them")[2]
    assert re.findall(r"^\*\*[^*]+\*\* \(`(?:--only )?(\w+)`\)\.", told, re.MULTILINE) == list(MEASURES)


def test_the_page_has_the_committed_tables() -> None:
    page = (ROOT / "docs/scoreboard.md").read_text("utf-8")
    assert results.table(results.read(COMMITTED / "first.json")) in page
    assert results.table(results.read(COMMITTED / "recorded.json")) in page
    assert results.table(results.read(COMMITTED / "procedures.json")) in page


def test_the_page_says_what_differs_in_the_second_run() -> None:
    """Both are whole: each cell of one is in the other."""
    first, second = (results.read(COMMITTED / f"{name}.json") for name in ("first", "second"))
    cells = [{(one.row, one.contender) for one in run.cells} for run in (first, second)]
    assert cells[0] == cells[1]
    assert {row for row, _ in cells[0]} == set(ROWS) - RECORDED - PUBLIC
    assert results.differences(first, second) in (ROOT / "docs/scoreboard.md").read_text("utf-8")


def test_the_page_has_the_committed_figures_as_bars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail with a figure changed in the results, and with a picture that the page does not show."""
    monkeypatch.setattr("sys.argv", ["bench.scoreboard", "--plots", str(COMMITTED / "first.json"), str(tmp_path)])
    main()
    made = {one.name: one.read_text("utf-8") for one in tmp_path.iterdir()}
    pictures = ROOT / "docs/pictures"
    assert {one.name: one.read_text("utf-8") for one in pictures.glob("scoreboard-*")} == made
    shown = re.findall(r"\(pictures/(scoreboard-.*?)\)", (ROOT / "docs/scoreboard.md").read_text("utf-8"))
    assert sorted(shown) == sorted(made)


def test_a_measure_in_which_all_are_alike_has_no_bars() -> None:
    cells = (
        Cell("grown", "sidemirror", 3.0), Cell("grown", "mem0", 1_000.0),
        Cell("grown-echo", "sidemirror", 3.0), Cell("grown-echo", "mem0", None, "takes <no> echo"),
        Cell("lost", "sidemirror", 0.0), Cell("lost", "mem0", 0.0),
    )  # fmt: skip
    drawn = plots(Results("", "", True, {"sidemirror": "Sidemirror", "mem0": "mem0"}, cells))
    assert list(drawn) == ["growth"]
    texts = [one.text for one in ElementTree.fromstring(drawn["growth"]).iter("{http://www.w3.org/2000/svg}text")]
    assert texts == [f"{ROWS['grown'].title} (less is better)", "Sidemirror", "3", "mem0", "1,000"]


def test_who_has_no_figure_says_why_in_the_bars() -> None:
    names = {"sidemirror": "Sidemirror", "mem0": "mem0", "x": "X & Co"}
    cells = (Cell("grown", "sidemirror", 3.0), Cell("grown", "mem0", 1.0), Cell("grown", "x", None, "takes <no> echo"))
    (drawn,) = plots(Results("", "", True, names, cells)).values()
    assert "takes &lt;no&gt; echo" in drawn
    assert "X &amp; Co" in drawn
