package sidemirror

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
)

const (
	turnsInAll  = 2_000
	turnsAtOnce = 100
	// patience is for what takes milliseconds on an idle machine.
	patience = time.Minute
)

// turns has so many turns, turnsAtOnce of them at once.
func turns(t *testing.T, client *Client, count int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var running sync.WaitGroup
	for range turnsAtOnce {
		running.Add(1)
		go func() {
			defer running.Done()
			for range count / turnsAtOnce {
				turn := client.BeginTurn(TurnOptions{})
				turn.Report(ToolCalled("look", "{}"))
				turn.Advice(Within(ctx, patience))
				turn.Finish(success, nil)
				if err := turn.delivered(ctx); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	running.Wait()
	if err := client.Flush(ctx); err != nil {
		t.Error(err)
	}
}

// settled is how many goroutines there are once their number has come down to the limit, or after a while.
func settled(limit int) int {
	for range 100 {
		if runtime.NumGoroutine() <= limit {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return runtime.NumGoroutine()
}

// Seen to fail when a turn that is over stays with its client, and when something waits on after each stream.
func TestNothingIsLeftOfTwoThousandTurns(t *testing.T) {
	client := listen(t, acks(plan("")), nil)
	turns(t, client, 2*turnsAtOnce)
	// What listens for silence ends when it has looked once more.
	before := settled(0)
	turns(t, client, turnsInAll)
	if after := settled(before); after > before {
		stacks := make([]byte, 1<<16)
		t.Fatalf("%d goroutines, %d before:\n%s", after, before, stacks[:runtime.Stack(stacks, true)])
	}
	client.mu.Lock()
	defer client.mu.Unlock()
	if open, bytes := len(client.turns), client.link.waitingBytes.Load(); open != 0 || bytes != 0 {
		t.Fatalf("%d turns and %d bytes are left", open, bytes)
	}
	if waiting := len(client.link.silence.sent); waiting != 0 {
		t.Fatalf("%d wait for an answer", waiting)
	}
}

// A report takes its p99 beside that of the floor, which copies the same event and keeps it. Needs an idle machine:
// `go test -bench P99 -benchtime 20000x -run NONE .` prints both.
func BenchmarkReportP99(b *testing.B) {
	client, err := Connect(WithAddress("unix:/nobody"), WithOnAway(func(error) {}))
	if err != nil {
		b.Fatal(err)
	}
	defer leaveNow(client)
	event := ToolCalled("run_sql", "SELECT count(*) FROM orders")
	report, floor := make([]time.Duration, 0, b.N), make([]time.Duration, 0, b.N)
	var turn *Turn
	kept := make([]any, 0, b.N)
	for i := range b.N {
		if i%1_000 == 0 {
			turn = client.BeginTurn(TurnOptions{})
		}
		began := time.Now()
		turn.Report(event)
		report = append(report, time.Since(began))
		began = time.Now()
		kept = append(kept, proto.Clone(event))
		floor = append(floor, time.Since(began))
	}
	b.StopTimer()
	b.ReportMetric(float64(p99(report).Nanoseconds())/1e6, "p99-ms")
	b.ReportMetric(float64(p99(floor).Nanoseconds())/1e6, "floor-p99-ms")
	if len(kept) != b.N {
		b.Fatal(len(kept))
	}
}

func p99(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)*99/100]
}
