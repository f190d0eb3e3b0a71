"""The operator's prompts: a folder of Jinja templates that replace built-in prompts.

`<prompt>.jinja` replaces a prompt; files that begin with `_` can be included. The server renders every template with
sample values when it starts, so that no template fails in the middle of a turn. Templates run in Jinja's sandbox, and
an undefined variable is an error.
"""

import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from sidemirror_server.models.language_model import AnswerT, Ask, Purpose
from sidemirror_server.vocabulary.errors import ModelFailed, WrongState
from sidemirror_server.vocabulary.status import ResultStatus

if TYPE_CHECKING:
    from jinja2 import Environment

SUFFIX = ".jinja"
# Errors that rendering a template may raise, besides Jinja's errors.
_OWN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

Variables = Mapping[str, Any]


class BadTemplate(Exception):
    """A template cannot be used. The message has the file, the line and the reason."""


class Templates:
    """The templates of a folder."""

    def __init__(self, folder: Path, known: Mapping[str, Sequence[Variables]]) -> None:
        """`known`: the prompts that can be replaced, each with samples of its variables. All samples of a prompt have
        the same names. With the last sample a template must not render to nothing. Raises BadTemplate."""
        if not folder.is_dir():
            raise BadTemplate(f"{folder} is not a folder")
        self._environment = _environment(folder)
        self._own = set()
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            name = path.name.removesuffix(SUFFIX)
            if name.startswith("_"):
                continue
            if name not in known:
                raise BadTemplate(f"{path}: there is no such prompt; there are {', '.join(sorted(known))}")
            self._check(path, name, known[name])
            self._own.add(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The prompts that are replaced, sorted."""
        return tuple(sorted(self._own))

    def render(self, name: str, variables: Variables) -> str | None:
        """The prompt from its template; None if there is none. Raises WrongState if the template fails."""
        if name not in self._own:
            return None
        from jinja2 import TemplateError

        try:
            return self._environment.get_template(f"{name}{SUFFIX}").render(variables)
        except (TemplateError, *_OWN) as error:
            raise WrongState("template", name, f"fails in line {_line_of(error)}") from error

    def _check(self, path: Path, name: str, samples: Sequence[Variables]) -> None:
        from jinja2 import TemplateError, TemplateSyntaxError, meta, nodes

        try:
            source = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadTemplate(f"{path}: it cannot be read: {error}") from error
        try:
            tree = self._environment.parse(source, name, str(path))
            unknown = meta.find_undeclared_variables(tree) - samples[0].keys()
            for used in tree.find_all(nodes.Name):
                if used.name in unknown:
                    offered = ", ".join(sorted(samples[0])) or "none"
                    raise BadTemplate(
                        f"{path}, line {used.lineno}: there is no variable {used.name!r}; there are {offered}"
                    )
            made = [self._environment.get_template(path.name).render(sample) for sample in samples]
        except TemplateSyntaxError as error:
            raise BadTemplate(f"{error.filename or path}, line {error.lineno}: {error.message}") from error
        except (TemplateError, *_OWN) as error:
            raise BadTemplate(f"{path}, line {_line_of(error)}: {error}") from error
        if not made[-1].strip():
            raise BadTemplate(f"{path}: it makes an empty text")


class Prompts:
    """Prompts that an operator's templates can replace."""

    def __init__(self, templates: Templates | None = None) -> None:
        self._templates = templates

    def _or_own(self, built_in: str, name: str, variables: Variables) -> str:
        """The operator's prompt of this name, else the built-in one. Raises WrongState if the template fails."""
        return (self._templates and self._templates.render(name, variables)) or built_in


# What operators can replace of a purpose whose user text is recorded material alone.
_SYSTEM, _PROMPT = "system", "prompt"
_PURPOSES = (
    Purpose.CRITIQUE,
    Purpose.REVISION,
    Purpose.COMPARISON,
    Purpose.TRACE_EVALUATION,
    Purpose.DEBATE,
    Purpose.GOAL_REFLECTION,
)


class PurposePrompts(Prompts):
    """The texts of the purposes whose user text is recorded material alone: built-in, or from the operator's templates
    `<purpose>.system` and `<purpose>.prompt`. A template has the built-in text as `system` or `prompt`; the latter is
    fenced."""

    def applied_to(self, ask: Ask[AnswerT]) -> Ask[AnswerT]:
        """The question with these texts. Raises ModelFailed if a template fails."""
        if ask.purpose not in _PURPOSES:
            return ask
        try:
            return msgspec.structs.replace(
                ask,
                system=self._or_own(ask.system, f"{ask.purpose}.{_SYSTEM}", {_SYSTEM: ask.system}),
                prompt=self._or_own(ask.prompt, f"{ask.purpose}.{_PROMPT}", {_PROMPT: ask.prompt}),
            )
        except WrongState as error:
            raise ModelFailed(ResultStatus.FAILED_MODEL, f"the operator's prompt cannot be made: {error}") from error


def templates() -> Mapping[str, Sequence[Variables]]:
    """The prompts of these purposes, each with a made-up variable to try a template."""
    samples = {_SYSTEM: "Judge the answer.", _PROMPT: "<data-0>\nThe answer.\n</data-0>"}
    return {f"{purpose}.{part}": ({part: sample},) for purpose in _PURPOSES for part, sample in samples.items()}


def _environment(folder: Path) -> "Environment":
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folder), undefined=StrictUndefined, auto_reload=False, keep_trailing_newline=False
    )


def _line_of(error: BaseException) -> int:
    """The line of a template that raised the error: the last one in its traceback; 0 if none."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(SUFFIX)]
    return next((line for line in reversed(lines) if line), 0)
