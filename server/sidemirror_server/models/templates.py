"""Prompts of the operator's own: a folder of Jinja templates that take the place of built-in ones.

`<prompt>.jinja` for each prompt that is replaced; files that begin with `_` are there to be included. All is checked
when the server starts, with made-up values: a template that would fail in the middle of a turn is of no use. Templates
run in Jinja's sandbox, and a variable that does not exist is an error instead of nothing.
"""

import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidemirror_server.vocabulary.errors import WrongState

if TYPE_CHECKING:
    from jinja2 import Environment

SUFFIX = ".jinja"
# What a template can run into while it is rendered, beside Jinja's own errors.
_OWN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

Variables = Mapping[str, Any]


class BadTemplate(Exception):
    """A template cannot be used; says the file, the line and why."""


class Templates:
    """The templates of a folder."""

    def __init__(self, folder: Path, known: Mapping[str, Sequence[Variables]]) -> None:
        """`known`: the prompts that can be replaced, each with made-up variables to try it with, all of them having
        the same names; with the last ones it must say something. Raises BadTemplate."""
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
        """The prompt as the template makes it; None where there is none. Raises WrongState when the template fails."""
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


def _environment(folder: Path) -> "Environment":
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folder), undefined=StrictUndefined, auto_reload=False, keep_trailing_newline=False
    )


def _line_of(error: BaseException) -> int:
    """Where in a template the error came up: the last line of a template that its traceback names."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(SUFFIX)]
    return next((line for line in reversed(lines) if line), 0)
