"""Whether what came back is what the scenario says (clients/scenario/README.md)."""

import re
from typing import Any

import grpc

from sidemirror_client import problem_of


class Unexpected(Exception):
    """Something is not as the scenario says."""


def check_error(step: dict[str, Any], error: grpc.aio.AioRpcError) -> None:
    """Raises Unexpected unless the step expects this error."""
    expected = step.get("error")
    if expected is None:
        raise Unexpected(f"{error.code().name}: {error.details()}")
    problem = problem_of(error)
    same = error.code().name == expected["code"] and problem.reason == expected.get("reason", problem.reason)
    if not same or not set(expected.get("fields", ())) <= set(problem.fields):
        raise Unexpected(f"{error.code().name} {problem} instead of {expected}: {error.details()}")


def check_stream(expected: list[Any], answers: list[Any]) -> None:
    """Raises Unexpected unless each of these came, in that order."""
    rest = iter(answers)
    for each in expected:
        if not any(matches(each, answer) for answer in rest):
            raise Unexpected(f"{each} did not come, in that order, in {answers}")


def check(expected: Any, answer: Any) -> None:
    """Raises Unexpected unless the answer is as expected."""
    if not matches(expected, answer):
        raise Unexpected(f"expected {expected}, got {answer}")


def matches(expected: Any, actual: Any) -> bool:
    """Whether the answer has what is expected; it may have more."""
    if expected is None or expected == "*":
        return (actual is None) == (expected is None)
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(matches(value, actual.get(key)) for key, value in expected.items())
    if isinstance(expected, list):
        return isinstance(actual, list) and len(actual) >= len(expected) and all(map(matches, expected, actual))
    return bool(expected == actual)


def at(answer: Any, path: str) -> Any:
    """The part of an answer at a path, such as `plan.turnId` or `0.lines`."""
    for part in path.split("."):
        answer = answer[int(part)] if part.isdigit() else answer[part]
    return answer


def filled(given: Any, variables: dict[str, str]) -> Any:
    """What is given, with variables in the place of their names."""
    if isinstance(given, str):
        return re.sub(r"\$([a-z_]+)", lambda found: variables.get(found[1], found[0]), given)
    if isinstance(given, list):
        return [filled(each, variables) for each in given]
    if isinstance(given, dict):
        return {key: filled(value, variables) for key, value in given.items()}
    return given


def figures(took_ms: list[float]) -> dict[str, float]:
    """What a line `timed` says of what was measured."""
    ordered = sorted(took_ms)
    p50, p99 = (ordered[min(len(ordered) - 1, len(ordered) * share // 100)] for share in (50, 99))
    return {"count": len(ordered), "p50_ms": p50, "p99_ms": p99, "most_ms": ordered[-1]}
