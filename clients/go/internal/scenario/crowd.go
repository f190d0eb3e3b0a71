package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sidemirror "github.com/sidemirror/sidemirror/clients/go"
	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
)

// many is so many turns at once, each with everything that the helper gives.
func (r *runner) many(given object) error {
	turns, err := strconv.Atoi(fmt.Sprint(given["turns"]))
	if err != nil {
		return err
	}
	var plans, recalls, directives, critiques, summaries atomic.Int32
	count := func(counter *atomic.Int32, is bool) {
		if is {
			counter.Add(1)
		}
	}
	var running sync.WaitGroup
	for number := range turns {
		running.Add(1)
		go func() {
			defer running.Done()
			ctx := sidemirror.Within(context.Background(), 8*patience)
			name := fmt.Sprintf("%s-%d", given["prefix"], number)
			turn := r.client.BeginTurn(sidemirror.TurnOptions{TurnID: name, Started: &pb.TurnStarted{
				SessionId: name, Task: given["task"].(string), Config: &pb.ThinkingConfig{Level: pb.ThinkLevel_THINK_LEVEL_MEDIUM},
			}})
			count(&plans, turn.Plan(ctx) != nil)
			count(&recalls, turn.Recall(sidemirror.Within(ctx, patience)) != nil)
			turn.Report(sidemirror.ToolCalled("run_sql", "SELECT 1"))
			turn.Report(sidemirror.ToolReturned("no such column: status", true))
			count(&directives, len(turn.Advice(ctx)) > 0)
			count(&critiques, turn.Critique(ctx, "There are 41.", "") != nil)
			turn.Finish(pb.TaskOutcome_TASK_OUTCOME_SUCCESS, nil)
			count(&summaries, turn.Summary(ctx) != nil)
		}()
	}
	running.Wait()
	fmt.Printf("many {\"plans\": %d, \"recalls\": %d, \"directives\": %d, \"critiques\": %d, \"summaries\": %d, \"told\": %d}\n",
		plans.Load(), recalls.Load(), directives.Load(), critiques.Load(), summaries.Load(), r.told.Load())
	return nil
}

// held is what is there once everything is delivered and what ends a moment after its turn has ended, after a full
// collection.
func (r *runner) held() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.client.Flush(ctx); err != nil {
		return err
	}
	for ends := time.Now().Add(10 * time.Second); r.tasks > 0 && runtime.NumGoroutine() > r.tasks; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(ends) {
			break
		}
	}
	if r.tasks == 0 {
		r.tasks = runtime.NumGoroutine()
	}
	// Twice: what has a finalizer goes with the second.
	runtime.GC()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Printf("held {\"memory\": %d, \"tasks\": %d}\n", memory.HeapAlloc, runtime.NumGoroutine())
	return nil
}

func (r *runner) away(given object) error {
	count := func(name string) int { return int(given[name].(float64)) }
	prefix := given["prefix"].(string)
	longest, plain, dropped := time.Duration(0), time.Duration(0), 0
	// The system's account is that of a thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	scheduled, _ := os.Open("/proc/thread-self/schedstat")
	defer scheduled.Close()
	timed := func(use func()) {
		before, began := waited(scheduled), time.Now()
		use()
		took := time.Since(began)
		longest, plain = max(longest, took-(waited(scheduled)-before)), max(plain, took)
	}
	r.told.Store(0)
	var begun []*sidemirror.Turn
	for number := range count("turns") {
		var turn *sidemirror.Turn
		timed(func() {
			turn = r.client.BeginTurn(sidemirror.TurnOptions{
				TurnID:  fmt.Sprintf("%s-%d", prefix, number),
				Started: &pb.TurnStarted{SessionId: prefix, Task: "away"},
			})
		})
		begun = append(begun, turn)
		for place := range count("events") {
			if place == count("events")/2 {
				if err := r.strike(number, count("kill_at"), count("start_at")); err != nil {
					return err
				}
			}
			event := sidemirror.ToolCalled("step", fmt.Sprintf(`{"i": %d}`, place))
			event.EventId = fmt.Sprintf("e%d", place)
			timed(func() { turn.Report(event) })
		}
		timed(func() { turn.Take() })
		timed(func() { turn.Finish(pb.TaskOutcome_TASK_OUTCOME_SUCCESS, nil) })
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	if err := r.client.Flush(ctx); err != nil {
		return fmt.Errorf("not everything was delivered: %w", err)
	}
	for _, turn := range begun {
		dropped += turn.Dropped()
	}
	fmt.Printf("away {\"longest_ms\": %f, \"plain_ms\": %f, \"told\": %d, \"dropped\": %d}\n",
		longest.Seconds()*1000, plain.Seconds()*1000, r.told.Load(), dropped)
	return nil
}

// waited is how long this thread could have run while others had its core; 0 where the system does not say.
func waited(scheduled *os.File) time.Duration {
	var text [128]byte
	length, _ := scheduled.ReadAt(text[:], 0)
	fields := strings.Fields(string(text[:length]))
	if len(fields) < 2 {
		return 0
	}
	nanoseconds, _ := strconv.ParseInt(fields[1], 10, 64)
	return time.Duration(nanoseconds)
}

func (r *runner) strike(number, killAt, startAt int) error {
	switch number {
	case killAt:
		return r.control("kill")
	case startAt:
		return r.control("start")
	}
	return nil
}
