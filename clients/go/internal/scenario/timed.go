package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// times are how long what is timed took, by the text that names it.
type times map[string][]time.Duration

// of uses something, and keeps how long that took where the step wants it.
func (t times) of(step object, use func()) {
	began := time.Now()
	use()
	if name, is := step["timed"].(string); is {
		t[name] = append(t[name], time.Since(began))
	}
}

// figures of one text, in milliseconds.
type figures struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Most  float64 `json:"most_ms"`
}

// print says what was measured, where anything was.
func (t times) print() error {
	if len(t) == 0 {
		return nil
	}
	all := map[string]figures{}
	for name, taken := range t {
		slices.Sort(taken)
		at := func(place int) float64 { return taken[place].Seconds() * 1000 }
		all[name] = figures{len(taken), at(len(taken) / 2), at(len(taken) * 99 / 100), at(len(taken) - 1)}
	}
	text, err := json.Marshal(all)
	fmt.Printf("timed %s\n", text)
	return err
}
