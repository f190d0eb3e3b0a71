"""Prompts of the operator's own: what they may say, and that a bad one is found at the start."""

from pathlib import Path

import pytest

from sidemirror_server.assembly import assemble
from sidemirror_server.models.templates import BadTemplate, Templates
from sidemirror_server.settings import BadSettings, load
from sidemirror_server.thinking.prompts import REFLECTION_SYSTEM, ReflectionPrompts, ToolOutcome, templates
from sidemirror_server.vocabulary.errors import WrongState

RESULTS = [ToolOutcome("search", "nothing found"), ToolOutcome("fetch", "gone", failed=True)]


def prompts(folder: Path, **files: str) -> ReflectionPrompts:
    """`files`: by the prompt's name, `system` for the system text."""
    names = {"system": "mid_turn_reflection.system.jinja", "prompt": "mid_turn_reflection.jinja"}
    for name, text in files.items():
        (folder / names.get(name, f"{name}.jinja")).write_text(text)
    return ReflectionPrompts(Templates(folder, templates()))


def test_without_templates_the_prompts_are_the_built_in_ones(tmp_path: Path) -> None:
    own, built_in = prompts(tmp_path), ReflectionPrompts()
    assert own.system() == built_in.system() == REFLECTION_SYSTEM
    assert own.prompt("q", RESULTS, "e") == built_in.prompt("q", RESULTS, "e")


def test_a_template_takes_the_place_of_a_built_in_prompt(tmp_path: Path) -> None:
    own = prompts(
        tmp_path,
        system="Be kind.",
        prompt="{% for r in tool_results %}{{ r.tool }}{{ '!' if r.failed }} {% endfor %}"
        "{{ question }}|{{ recent_error }}",
    )
    assert own.system() == "Be kind."
    assert own.prompt("Where?", RESULTS, "gone") == "search fetch! Where?|gone"


def test_recorded_texts_can_be_had_fenced(tmp_path: Path) -> None:
    own = prompts(tmp_path, prompt="{{ questions }}\n\nBriefly!\n\n{{ data }}")
    built_in = ReflectionPrompts().prompt("Where?", RESULTS, "gone")
    questions, _, data = built_in.partition("\n\n")
    assert own.prompt("Where?", RESULTS, "gone") == f"{questions}\n\nBriefly!\n\n{data}"


def test_what_was_recorded_is_never_a_template(tmp_path: Path) -> None:
    own = prompts(tmp_path, prompt="{{ question }}")
    assert own.prompt("{{ 7 * 7 }} {% raw %}", [], "") == "{{ 7 * 7 }} {% raw %}"


def test_a_template_may_include_another(tmp_path: Path) -> None:
    assert prompts(tmp_path, _house="House rules.", system="{% include '_house.jinja' %}").system() == "House rules."


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"prompt": "a\nb {{ qestion }}"},
            "mid_turn_reflection.jinja, line 2: there is no variable 'qestion'; there are",
        ),
        ({"prompt": "{% if question %}\n{{ x"}, "mid_turn_reflection.jinja, line 2: unexpected end of template"),
        ({"prompt": "\n\n{{ tool_results[0].secret }}x"}, "mid_turn_reflection.jinja, line 3: "),
        ({"prompt": "x{% for r in tool_results %}\n{{ r.txt }}{% endfor %}"}, "mid_turn_reflection.jinja, line 2: "),
        ({"prompt": "{{ question.__class__.__mro__ }}"}, "mid_turn_reflection.jinja, line 1: access to attribute"),
        ({"prompt": "{{ 1 / (tool_results | length) }}"}, "mid_turn_reflection.jinja, line 1: division by zero"),
        ({"system": "{{ question }}"}, "mid_turn_reflection.system.jinja, line 1: there is no variable 'question'"),
        ({"system": " \n"}, "mid_turn_reflection.system.jinja: it makes an empty text"),
        ({"prompt": "{% include 'x.jinja' %}"}, "mid_turn_reflection.jinja, line 1: 'x.jinja' not found"),
        ({"prompt": "{% include '../../etc/passwd' %}"}, "mid_turn_reflection.jinja, line 1: ../../etc/passwd"),
        (
            {"mid_turn_reflexion": "x"},
            "there is no such prompt; there are mid_turn_reflection, mid_turn_reflection.system",
        ),
    ],
)
def test_a_bad_template_is_found_at_the_start(tmp_path: Path, files: dict[str, str], told: str) -> None:
    with pytest.raises(BadTemplate) as caught:
        prompts(tmp_path, **files)
    assert told in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_a_template_that_fails_later_says_where(tmp_path: Path) -> None:
    own = prompts(tmp_path, prompt="{% if question == 'now' %}\n{{ 1 / 0 }}{% endif %}x")
    with pytest.raises(WrongState) as caught:
        own.prompt("now", [], "")
    assert caught.value.facts == {"kind": "template", "id": "mid_turn_reflection", "state": "fails in line 2"}


async def test_the_server_does_not_start_with_one(tmp_path: Path) -> None:
    (tmp_path / "mid_turn_reflection.jinja").write_text("{{ nothing }}")
    settings = load({"data_dir": str(tmp_path / "data"), "prompts_dir": str(tmp_path)}, {})
    with pytest.raises(BadSettings, match=r"prompts_dir \(SIDEMIRROR_PROMPTS_DIR\).*line 1: there is no variable"):
        async with assemble(settings):
            pass
    missing = load({"data_dir": str(tmp_path / "data"), "prompts_dir": str(tmp_path / "none")}, {})
    with pytest.raises(BadSettings, match="is not a folder"):
        async with assemble(missing):
            pass
