"""Prints the demonstration: what the agent did, what the sidecar said, and why."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sidemirror.v1 import common_pb2, goal_reflection_pb2, reflective_memory_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.demo.attempt import STEP_LIMIT, Attempt
from sidemirror_server.operations.demo.books import right_answer
from sidemirror_server.operations.demo.memory import Told
from sidemirror_server.operations.demo.policy import DemoStep, Tactic
from sidemirror_server.operations.demo.recovery import Lived
from sidemirror_server.operations.demo.review import Review
from sidemirror_server.operations.demo.tools import DemoOutcome
from sidemirror_server.vocabulary.text import clip

_SHOWN_CHARS = 110
_MARGIN = 4


class Screen:
    """Shows attempts as they happen."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def title(self, text: str) -> None:
        """A heading."""
        self._console.print()
        self._console.rule(Text(text, style="bold"), align="left")

    def say(self, text: str) -> None:
        """A line."""
        self._console.print(Text(text))

    def learned(self, reflection: goal_reflection_pb2.GoalReflection | None) -> None:
        """The sidecar's reflection on the failed goal."""
        self._line(
            Text("agent: I report that the goal has failed, and what each tool returned last", style="bold yellow")
        )
        if reflection is not None:
            self._sidecar("lesson", f"{reflection.insight} (importance {reflection.importance:.1f})")

    def kept(self, result: reflective_memory_pb2.ReflectionResult | None) -> None:
        """The reflection that the sidecar stores."""
        self._line(Text("agent: I have the attempt reflected on, and what it taught kept", style="bold yellow"))
        if result is not None:
            self._sidecar("keeps", f"{result.reflection_text} (importance {result.importance:.1f})")
            if result.strategy_text:
                self._sidecar("keeps", f"the strategy: {result.strategy_text}")

    def began(self, directives: Sequence[pb.TurnDirective], lessons: str) -> None:
        """The sidecar's plan for the turn, the lessons of earlier goals, and memory's lessons for the task."""
        for directive in directives:
            plan = directive.turn_plan
            level = pb.ThinkLevel.Name(plan.config.level).removeprefix("THINK_LEVEL_")
            self._sidecar(
                "plan", f"level {level}, {plan.budget.max_reflections} reflections at most, {plan.token_budget} tokens"
            )
            for line in plan.context.text.splitlines():
                self._sidecar("context", line)
        for line in lessons.splitlines():
            self._sidecar("memory", line)

    def did(self, number: int, step: DemoStep, outcome: DemoOutcome) -> None:
        """A step of the agent."""
        paused = f" after a pause of {step.pause_s:g} s" if step.pause_s else ""
        arguments = ", ".join(f"{name}={value}" for name, value in step.call.arguments.items())
        self._line(Text.assemble((step.call.name, "bold"), f"({arguments})", (paused, "dim")), f"{number:>2}")
        shown = clip(outcome.text, _SHOWN_CHARS)
        self._line(Text(f"✗ {shown}", style="red") if outcome.failed else Text(f"→ {shown}", style="green"))

    def heard(self, directives: Sequence[pb.TurnDirective], tactic: Tactic | None) -> None:
        """The sidecar's directives, their reasons, and the tactic that the agent takes."""
        for directive in directives:
            if directive.HasField("nudge"):
                pattern = pb.Pattern.Name(directive.nudge.pattern).removeprefix("PATTERN_")
                self._sidecar("nudge", directive.nudge.message)
                self._why(pattern, directive.caused_by)
            elif directive.HasField("reflection"):
                names = map(pb.ReflectionReason.Name, directive.reasons)
                reasons = " ".join(name.removeprefix("REFLECTION_REASON_") for name in names)
                reflection = directive.reflection
                self._sidecar("reflection", reflection.reflection)
                if reflection.suggested_action:
                    self._sidecar("suggests", reflection.suggested_action)
                self._why(reasons, reflection.cited_event_ids)
        if tactic is not None:
            self._line(Text(f"agent: so I {tactic.value}", style="bold yellow"))

    def review(self, review: Review) -> None:
        """A draft and its critique."""
        critique = review.critique
        self._line(Text(f"draft: {review.draft}", style="bold"))
        verdict = "revise it" if critique.should_revise else "let it go out"
        sure = f" (confidence {critique.confidence:.2f})" if critique.confidence_kind else ""
        self._sidecar("critique", f"{verdict}{sure}")
        for issue in critique.issue_details:
            kind = common_pb2.IssueKind.Name(issue.kind).removeprefix("ISSUE_KIND_")
            self._sidecar("issue", f"{kind}, “{issue.quote}”: {issue.reason}")

    def compare(self, attempts: dict[str, Attempt]) -> None:
        """The attempts side by side."""
        table = Table(box=box.SIMPLE)
        table.add_column("")
        for name in attempts:
            table.add_column(name, justify="right")
        rows = {
            "steps": [str(it.steps) for it in attempts.values()],
            "failed calls": [str(it.errors) for it in attempts.values()],
            "calls repeated unchanged": [str(it.repeated) for it in attempts.values()],
            "nudges, reflections": [f"{it.nudges}, {it.reflections}" for it in attempts.values()],
            "answer": [_answer(it) for it in attempts.values()],
        }
        for label, figures in rows.items():
            table.add_row(label, *figures)
        self._console.print()
        self._console.print(table)

    def told(self, told: Told | None) -> None:
        """The outcome of the task, and the statistics of the lessons that were shown for it."""
        if told is None:
            self.say("No lesson was shown.")
            return
        self._sidecar("receipt", told.receipt_id)
        outcome = "success" if told.succeeded else "failure"
        self._line(Text(f"agent: I report the outcome of that receipt: {outcome}", style="bold yellow"))
        for text, lesson in told.lessons:
            self._sidecar("lesson", text)
            seen = lesson.outside
            known = seen.returned_count + seen.stayed_away_count
            self._sidecar(
                "statistics",
                f"{seen.success_count} of {seen.assigned_count} tasks with it succeeded; "
                f"the error that it is about came up again in {seen.returned_count} of {known}",
            )
            verdict = reflective_memory_pb2.LessonVerdict.Name(lesson.verdict).removeprefix("LESSON_VERDICT_")
            self._sidecar("verdict", f"{verdict}: {lesson.detail}")

    def lived(self, sessions: Sequence[Lived]) -> None:
        """Sessions that met the same error, and what the last one was told."""
        for one in sessions:
            self._line(Text(f"session {one.number}: {one.calls} calls, {one.failed} failed"), f"{one.number:>2}")
            if one.advice:
                self._sidecar("advice", one.advice)

    def _sidecar(self, kind: str, text: str) -> None:
        self._line(Text.assemble((f"sidecar {kind}: ", "bold cyan"), (text, "cyan")))

    def _why(self, reason: str, event_ids: Sequence[str]) -> None:
        events = f", from {', '.join(event_ids)}" if event_ids else ""
        self._line(Text(f"why: {reason}{events}", style="dim"))

    def _line(self, text: Text, margin: str = "") -> None:
        """A text beside a margin of four characters; wrapped lines are indented too."""
        grid = Table.grid()
        grid.add_column(width=_MARGIN, style="dim")
        grid.add_column()
        grid.add_row(margin, text)
        self._console.print(grid)


def _answer(attempt: Attempt) -> str:
    if attempt.answer is None:
        return f"none in {STEP_LIMIT} steps"
    return f"{attempt.answer} EUR, {'right' if attempt.answer == right_answer() else 'wrong'}"
