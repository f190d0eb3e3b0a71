package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sidemirror "github.com/sidemirror/sidemirror/clients/go"
	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/protobuf/proto"
)

func (r *runner) turn(step object) error {
	name := "t"
	if step["as"] != nil {
		name = step["as"].(string)
	}
	turn := r.turns[name]
	switch step["turn"] {
	case "begin":
		started := &pb.TurnStarted{}
		if err := parse(step["started"], started); err != nil {
			return err
		}
		goal, err := goalOf(step)
		if err != nil {
			return err
		}
		r.turns[name] = r.client.BeginTurn(sidemirror.TurnOptions{
			TurnID: text(step, "turn_id"), Agent: text(step, "agent"), Started: started, Goal: goal,
		})
		r.directives[name] = nil
	case "report":
		if size, is := step["text_bytes"].(float64); is {
			turn.Report(sidemirror.ToolReturned(strings.Repeat("é", int(size)/2), false))
		}
		events, _ := step["events"].([]any)
		times, _ := step["times"].(float64)
		for range max(1, int(times)) {
			for _, given := range events {
				event := &pb.TurnEvent{}
				if err := parse(given, event); err != nil {
					return err
				}
				r.times.of(step, func() { turn.Report(event) })
			}
		}
	case "worked":
		turn.Report(sidemirror.OfCall(text(step, "call_id"), sidemirror.ToolWorked(text(step, "content"))))
	case "finish":
		return finish(turn, step)
	case "fail":
		_ = leave(turn, errors.New("an agent's own error"))
	case "leave":
		_ = leave(turn, nil)
	case "cancel":
		_ = leave(turn, fmt.Errorf("an agent's own call: %w", context.Canceled))
	case "flush":
		return r.flush(step)
	case "ready":
		return r.ready()
	case "error":
		return r.awaitError(turn, step)
	case "await":
		return r.await(name, step["expect"])
	default:
		return r.ask(turn, step)
	}
	return nil
}

func finish(turn *sidemirror.Turn, step object) error {
	var score *float64
	if given, is := step["score"].(float64); is {
		score = &given
	}
	outcome := pb.TaskOutcome(pb.TaskOutcome_value[text(step, "outcome")])
	goal, err := goalOf(step)
	if goal == nil {
		turn.Finish(outcome, score)
	} else {
		turn.FinishGoal(outcome, score, *goal)
	}
	return err
}

// goalOf is the step's goal; nil where it has none.
func goalOf(step object) (*sidemirror.Goal, error) {
	if step["goal"] == nil {
		return nil, nil
	}
	goal := &pb.ReportGoalRequest{}
	if err := parse(step["goal"], goal); err != nil {
		return nil, err
	}
	return &sidemirror.Goal{
		ID: goal.GoalId, Objective: goal.Objective, Tasks: goal.Tasks, Error: goal.Error, SubjectIDs: goal.SubjectIds,
	}, nil
}

// leave leaves the turn's scope, with this error.
func leave(turn *sidemirror.Turn, with error) (err error) {
	defer turn.End(&err)
	return with
}

func (r *runner) flush(step object) error {
	ctx, cancel := limited(step, patience)
	defer cancel()
	err := r.client.Flush(ctx)
	if step["delivered"] == false {
		if err == nil {
			return errors.New("all was delivered")
		}
		return nil
	}
	return err
}

// limited is a context that ends after the step's timeout_ms; without one after so long, or never where that is 0.
func limited(step object, limit time.Duration) (context.Context, context.CancelFunc) {
	if given, is := step["timeout_ms"].(float64); is {
		limit = time.Duration(given) * time.Millisecond
	}
	if limit == 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(sidemirror.Within(context.Background(), limit), limit)
}

// ask has the helper answer, and checks the answer and how long it took.
func (r *runner) ask(turn *sidemirror.Turn, step object) error {
	limit := patience
	if step["turn"] != "plan" && step["turn"] != "summary" {
		limit = 0 // the client's own
	}
	ctx, cancel := limited(step, limit)
	defer cancel()
	began := time.Now()
	var answer any
	var directives []*pb.TurnDirective
	var err error
	use, is := map[string]func(){
		"plan":     func() { answer = turn.Plan(ctx) },
		"summary":  func() { answer = turn.Summary(ctx) },
		"recall":   func() { answer = turn.Recall(ctx) },
		"critique": func() { answer = turn.Critique(ctx, text(step, "text"), text(step, "user_message")) },
		"advice":   func() { directives = turn.Advice(ctx) },
		"revised": func() {
			again := func(string) (string, error) { return text(step, "again"), nil }
			answer, err = turn.Revised(ctx, text(step, "text"), again, sidemirror.ReviseFor(text(step, "user_message")))
		},
	}[step["turn"].(string)]
	if !is {
		return fmt.Errorf("what is %v?", step["turn"])
	}
	r.times.of(step, use)
	took := time.Since(began)
	switch {
	case err != nil:
		return err
	case step["turn"] == "advice":
		said := []any{}
		for _, directive := range directives {
			said = append(said, plain(directive))
		}
		if expected := step["expect"].([]any); len(said) != len(expected) {
			return fmt.Errorf("expected %v, got %v", expected, said)
		}
		answer = said
	default:
		if message, is := answer.(proto.Message); is {
			answer = plain(message)
		}
	}
	if within, is := step["within_ms"].(float64); is && took > time.Duration(within)*time.Millisecond {
		return fmt.Errorf("it took %v", took)
	}
	if !matches(step["expect"], answer) {
		return fmt.Errorf("expected %v, got %v", step["expect"], answer)
	}
	return nil
}

func (r *runner) awaitError(turn *sidemirror.Turn, step object) error {
	for ends := time.Now().Add(patience); turn.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(ends) {
			return errors.New("the turn goes on")
		}
	}
	if dropped := turn.Dropped(); dropped != int(step["dropped"].(float64)) {
		return fmt.Errorf("%d events were dropped", dropped)
	}
	return checkError(step, turn.Err(), nil)
}

func (r *runner) await(name string, expected any) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		directive, err := r.turns[name].Next(ctx)
		if err != nil {
			return fmt.Errorf("no directive %v among %v: %w", expected, r.directives[name], err)
		}
		came := plain(directive)
		if matches(expected, came) {
			r.directives[name] = nil
			return nil
		}
		r.directives[name] = append(r.directives[name], came)
	}
}
