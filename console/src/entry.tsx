/** One entry of a turn's timeline: an event of the agent, or what the sidecar said and why. */
import {
  CritiqueReasonSchema,
  IssueKindSchema,
  ResultStatus,
  ResultStatusSchema,
  TaskOutcomeSchema,
  type CritiqueResult,
} from "@sidemirror/api/v1/common";
import {
  PatternSchema,
  ReflectionReasonSchema,
  SilenceReason,
  ThinkLevelSchema,
  type MidTurnReflection,
  type SlotClaim,
  type TurnDirective,
  type TurnEntry,
  type TurnEvent,
} from "@sidemirror/api/v1/thinking";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ComponentChildren } from "preact";

import { Grounds } from "./asides.js";
import { Block } from "./block.js";
import { changeTold } from "./drafts.js";
import { nextCall, sameFailure, withdrawn } from "./next_call.js";
import { Badge, Id, Link, Text, Time } from "./parts.js";
import { idOf, isFailure, nameOf, timeOf, type Told } from "./record.js";
import { OF_SPANS, whyNoAdvice, whyNoLesson } from "./silences.js";
import { HeldAbout } from "./taught.js";
import { counted, headline, lasting, millisOf, percent, seen, spaced, word } from "./words.js";

export function Entry(props: { entry: TurnEntry; begun: Timestamp | undefined; told: Told; isNamed: boolean }) {
  const { entry, begun, told } = props;
  const { case: kind, value } = entry.entry;
  if (kind === undefined) return null;
  const time = timeOf(entry);
  const since = time && begun ? millisOf(time) - millisOf(begun) : 0;
  const tone = kind === "event" ? (isFailure(value, told) ? "failed" : "") : kind === "directive" ? "told" : "claim";
  return (
    <li id={idOf(entry.sequence)} class={`entry ${tone} ${props.isNamed ? "named" : ""}`}>
      <div class="when">
        <Time at={time} exact />
        <span class="dim since">{since >= 1 ? `+${lasting(since)}` : ""}</span>
      </div>
      <Here sequence={entry.sequence} turnId={entry.turnId} />
      <div class="what">
        {kind === "event" && <Event event={value} sequence={entry.sequence} told={told} />}
        {kind === "directive" && <Directive directive={value} sequence={entry.sequence} told={told} />}
        {kind === "claim" && <Claim claim={value} told={told} />}
      </div>
    </li>
  );
}

/** The entry's number, which is a link to it. */
function Here(props: { sequence: bigint; turnId: string }) {
  return (
    <Link to={["turns", props.turnId]} query={{ at: String(props.sequence) }} class="number" title="Link to this entry">
      {String(props.sequence)}
    </Link>
  );
}

function Kind(props: { children: ComponentChildren; more?: ComponentChildren }) {
  return (
    <p class="kind">
      <strong>{props.children}</strong> {props.more}
    </p>
  );
}

function Event(props: { event: TurnEvent; sequence: bigint; told: Told }) {
  const { event, told } = props;
  const agent = event.agent ? <bdi class="dim">{headline(event.agent, 80)}</bdi> : undefined;
  const texts = textsOf(event);
  const isFailed = isFailure(event, told);
  return (
    <>
      <Kind more={agent}>
        <span class={isFailed ? "bad" : undefined}>
          {nameOf(event, told.tools)}
          {isFailed && event.kind.case === "toolReturned" && !event.kind.value.isError && " a failure, by its text"}
        </span>
      </Kind>
      {texts.map((text, index) => text && <Text key={index}>{text}</Text>)}
      {isFailed && props.sequence <= told.saidUntil && <NotLookedUp event={event} told={told} />}
    </>
  );
}

/** Why a failure has no entry of what was told at it. What is recognised by what is not on record for it. */
function NotLookedUp(props: { event: TurnEvent; told: Told }) {
  const { event, told } = props;
  const call = told.calls.get(event.eventId);
  if (told.failures.has(event.eventId) || (call !== undefined && told.failures.has(call))) return null;
  const givenUp = told.givenUp.get(event.eventId) ?? (call && told.givenUp.get(call));
  const others = "it is of telemetry, whose agent hears of nothing";
  const isOfSpans = told.turnId.startsWith(OF_SPANS);
  const before = sameFailure(event, told);
  if (!givenUp && before) {
    return (
      <p class="why">
        no repair told: of each kind of failure the first one in a turn is looked up, and at{" "}
        <Link to={["turns", told.turnId]} query={{ at: String(before.at) }}>
          {String(before.at)}
        </Link>{" "}
        {before.silence ? whyNoAdvice(before.silence) : "the turn was told of it, or it was kept in shadow mode"}
      </p>
    );
  }
  const why = givenUp
    ? seen(givenUp)
    : told.failures.size > 0
      ? `of each kind of failure the first one in a turn is looked up; or its error names nothing that is recognised, ${isOfSpans ? others : "the turn ended before its look-up did"}; \`sidemirror turns why\` says which`
      : isOfSpans
        ? "the turn is made of telemetry, whose agent hears of nothing"
        : told.showsNoAdvice
          ? "the turn's start said that its agent shows no advice"
          : told.isOver
            ? "no look-up is on record: its error names nothing that is recognised, or the turn ended first, as one that is delivered after an outage does"
            : "no look-up is on record yet, or its error names nothing that is recognised";
  return <p class="why">no repair told, and not looked up: {why}</p>;
}

/** The texts of an event, the most telling first. */
function textsOf(event: TurnEvent): string[] {
  const { kind } = event;
  switch (kind.case) {
    case "turnStarted":
      // A host's prompt is both the task and its message.
      return [...new Set([kind.value.task, ...kind.value.messages.map((message) => message.content), kind.value.basePrompt])];
    case "userMessage":
    case "modelReturned":
    case "responseDrafted":
      return [kind.value.text];
    case "modelStarted":
      return [[kind.value.provider, kind.value.model].filter(Boolean).join(" ")];
    case "toolCalled":
      return [kind.value.arguments];
    case "toolReturned":
      return [kind.value.content];
    case "toolFailed":
      return [kind.value.error];
    case "uncertainty":
      return [`${percent(kind.value.score)} ${kind.value.detail}`];
    case "reflectionRecorded":
      return [kind.value.reflection, kind.value.suggestedAction ?? ""];
    case "turnFinished":
      return [word(TaskOutcomeSchema, kind.value.outcome)];
    case "sessionNamed":
      return [kind.value.sessionId];
    default:
      return [];
  }
}

function Directive(props: { directive: TurnDirective; sequence: bigint; told: Told }) {
  const { directive, sequence, told } = props;
  const { kind } = directive;
  const shadow = directive.isShadow && (
    <Badge tone="warn" title="advice__mode was shadow: it was kept, and the agent was not told">
      shadow: not told
    </Badge>
  );
  const why = <Why directive={directive} told={told} />;
  switch (kind.case) {
    case "turnPlan": {
      const { config, tokenBudget, turnCount, warnings, context, silence } = kind.value;
      return (
        <>
          <Kind more={<span class="dim">{`turn ${turnCount}, level ${word(ThinkLevelSchema, config?.level ?? 0) || "off"}, ${counted(tokenBudget, "token")}`}</span>}>
            plan{shadow}
          </Kind>
          {told.asksLevel !== undefined && (
            <p class="why">its level: {told.asksLevel ? "as its start asked" : "of its session or by default, since its start asked for none"}</p>
          )}
          {warnings.map((warning, index) => (
            <p key={index} class="dim">
              {seen(warning)}
            </p>
          ))}
          {silence !== SilenceReason.UNSPECIFIED && <p class="why">no lesson with it: {whyNoLesson(silence, told)}</p>}
          {context && <Block block={context} told={told} />}
        </>
      );
    }
    case "silence":
      return (
        <>
          <Kind>no repair told</Kind>
          {why}
          <p class="why">
            {whyNoAdvice(kind.value)}; recognised as{" "}
            <Link to={["recoveries", kind.value.signature]}>
              <Id>{kind.value.signature}</Id>
            </Link>
          </p>
          <HeldAbout directive={directive} signature={kind.value.signature} told={told} />
          <Followed directive={directive} signature={kind.value.signature} told={told} />
        </>
      );
    case "nudge":
      return (
        <>
          <Kind more={<span class="dim">{word(PatternSchema, kind.value.pattern)}</span>}>nudge{shadow}</Kind>
          {why}
          <Text said>{kind.value.message}</Text>
          <Next directive={directive} sequence={sequence} told={told} />
        </>
      );
    case "advice":
      return (
        <>
          <Kind>advice{shadow}</Kind>
          {why}
          {kind.value.signature && (
            <p class="why">
              recognised as{" "}
              <Link to={["recoveries", kind.value.signature]}>
                <Id>{kind.value.signature}</Id>
              </Link>
            </p>
          )}
          {kind.value.block && <Block block={kind.value.block} told={told} signature={kind.value.signature} />}
          <Followed directive={directive} signature={kind.value.signature} told={told} />
        </>
      );
    case "reflection":
      return (
        <>
          <Reflection reflection={kind.value} why={why} shadow={shadow} told={told} />
          {kind.value.status === ResultStatus.OK && <Next directive={directive} sequence={sequence} told={told} />}
        </>
      );
    case "critique":
      return <Critique critique={kind.value} why={why} shadow={shadow} told={told} />;
    case "turnSummary": {
      const { outcome, eventCount, toolCallCount, toolErrorCount, nudgeCount, duration } = kind.value;
      const parts = [
        word(TaskOutcomeSchema, outcome) || "no outcome reported",
        counted(eventCount, "event"),
        `${toolErrorCount} of ${counted(toolCallCount, "call")} failed`,
        counted(nudgeCount, "nudge"),
        duration ? lasting(Number(duration.seconds) * 1_000 + duration.nanos / 1e6) : "",
      ];
      return <Kind more={<span class="dim">{parts.filter(Boolean).join(", ")}</span>}>summary</Kind>;
    }
    default:
      return <Kind>{spaced(kind.case ?? "directive")}</Kind>;
  }
}

/** What caused a directive: the rule's reasons, and the events. */
function Why(props: { directive: TurnDirective | SlotClaim; told: Told }) {
  const { directive, told } = props;
  const reasons = directive.reasons.map((one) => word(ReflectionReasonSchema, one));
  if ("critiqueReasons" in directive) {
    reasons.push(...directive.critiqueReasons.map((one) => word(CritiqueReasonSchema, one)));
  }
  if (reasons.length === 0 && directive.causedBy.length === 0) return null;
  return (
    <p class="why">
      because of {reasons.join(", ")}
      {reasons.length > 0 && directive.causedBy.length > 0 && ": "}
      {directive.causedBy.map((id, index) => (
        <span key={id}>
          {index > 0 && ", "}
          <Cause id={id} told={told} />
        </span>
      ))}
    </p>
  );
}

/** What followed the failing call: the next such call, with a link to it. */
function Followed(props: { directive: TurnDirective; signature: string; told: Told }) {
  const { told } = props;
  const one = told.followUps.get(props.signature);
  if (!one || !isAbout(props.directive, one.failureEventId, told)) return null;
  if (!one.hasAttempt) return <p class="why">what followed: the call was not tried again</p>;
  const { attemptEventId: id, attemptTurnId: later } = one;
  const otherwise = one.turnFailed ? "worked, and its turn failed" : "failed, or its turn did";
  return (
    <p class="why">
      what followed: {id ? later ? <Link to={["turns", later]} query={{ event: id }}>the next such call, in a later turn</Link> : <Cause id={id} told={told} /> : "the next such call"}{" "}
      <Badge tone={one.worked ? "good" : "bad"}>{one.worked ? "worked" : otherwise}</Badge>
      {one.advisedRecoveryId && (one.followed ? " done as told" : " done otherwise than told")}
    </p>
  );
}

/** What followed a nudge or a reflection, once all of it is known. */
function Next(props: { directive: TurnDirective; sequence: bigint; told: Told }) {
  const { told } = props;
  if (!told.isOver || props.sequence > told.saidUntil) return null;
  const { call, told: words } = nextCall(props.directive, props.sequence, told);
  const ended = withdrawn(props.directive, props.sequence, told);
  return (
    <p class="why">
      what followed: {call?.entry.case === "event" && <Cause id={call.entry.value.eventId} told={told} />} {words}
      {ended && (
        <>
          ; withdrawn at{" "}
          <Link to={["turns", told.turnId]} query={{ at: String(ended.at) }}>
            {String(ended.at)}
          </Link>
          , {ended.why}: an agent that had not shown it by then does not
        </>
      )}
    </p>
  );
}

/** Whether a directive is about the failing call of this event; also where it is not known which call that was. */
function isAbout(directive: TurnDirective, failureId: string, told: Told): boolean {
  const calls = directive.causedBy.map((id) => told.calls.get(id));
  return calls.length === 0 || calls.includes(undefined) || calls.includes(failureId) || directive.causedBy.includes(failureId);
}

function Cause(props: { id: string; told: Told }) {
  const entry = props.told.events.get(props.id);
  if (entry?.entry.case !== "event") return <Id>{props.id}</Id>;
  return (
    <Link to={["turns", entry.turnId]} query={{ at: String(entry.sequence) }}>
      {`${entry.sequence} ${nameOf(entry.entry.value, props.told.tools)}`}
    </Link>
  );
}

function Reflection(props: { reflection: MidTurnReflection; why: ComponentChildren; shadow: ComponentChildren; told: Told }) {
  const { reflection } = props;
  const isOk = reflection.status === ResultStatus.OK;
  return (
    <>
      <Kind more={<span class="dim">{modelOf(reflection.usage)}</span>}>
        reflection{props.shadow}
        {!isOk && <Badge tone="warn">{word(ResultStatusSchema, reflection.status)}</Badge>}
      </Kind>
      {props.why}
      {reflection.detail && <p class="dim">{seen(reflection.detail)}</p>}
      {reflection.reflection && <Text said>{reflection.reflection}</Text>}
      {reflection.suggestedAction && <Text said>{`→ ${reflection.suggestedAction}`}</Text>}
      {reflection.lessons && <Block block={reflection.lessons} told={props.told} />}
    </>
  );
}

function Critique(props: { critique: CritiqueResult; why: ComponentChildren; shadow: ComponentChildren; told: Told }) {
  const { critique } = props;
  const change = changeTold(props.told.critiques.get(critique.critiqueId), props.told);
  return (
    <>
      <Kind more={<span class="dim">{[modelOf(critique.usage), change].filter(Boolean).join(", ")}</span>}>
        critique{props.shadow}
        {critique.status !== ResultStatus.OK ? (
          <Badge tone="warn">{word(ResultStatusSchema, critique.status)}</Badge>
        ) : (
          <Badge tone={critique.shouldRevise ? "bad" : "good"}>{critique.shouldRevise ? "revise" : "let through"}</Badge>
        )}
      </Kind>
      {props.why}
      {critique.issueDetails.map((issue, index) => (
        <div key={index} class="card">
          <p class="kind">{word(IssueKindSchema, issue.kind)}</p>
          {issue.quote && <Text>{issue.quote}</Text>}
          <Text said>{issue.reason}</Text>
          <Grounds ids={issue.eventIds} told={props.told} />
        </div>
      ))}
    </>
  );
}

function Claim(props: { claim: SlotClaim; told: Told }) {
  return (
    <>
      <p class="dim">{props.claim.critique ? "a critique begins" : "a reflection begins"}</p>
      <Why directive={props.claim} told={props.told} />
    </>
  );
}

function modelOf(usage: { provider: string; model: string; costUsd?: number } | undefined): string {
  if (!usage) return "";
  const cost = usage.costUsd ? `, $${usage.costUsd.toPrecision(2)}` : "";
  return seen([usage.provider, usage.model].filter(Boolean).join(" ")) + cost;
}
