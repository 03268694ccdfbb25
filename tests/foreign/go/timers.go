// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"context"
	"errors"
	"time"
)

// timers: hundreds of sleepers, none too early; After, Ticker, AfterFunc, Stop, Reset, a deadline.
func timers() {
	const count = 500
	early := make(chan bool, count)
	for i := 0; i < count; i++ {
		go func(pause time.Duration) {
			begun := time.Now()
			time.Sleep(pause)
			early <- time.Since(begun) < pause
		}(time.Duration(i%10+1) * time.Millisecond)
	}
	late := 0
	for i := 0; i < count; i++ {
		if !<-early {
			late++
		}
	}
	check("sleepers that slept long enough", late, count)

	begun := time.Now()
	after := make(chan bool, 3)
	for _, i := range []int{3, 1, 2} {
		go func(pause time.Duration) {
			<-time.After(pause)
			after <- time.Since(begun) >= pause
		}(time.Duration(i) * 10 * time.Millisecond)
	}
	check("After, not before", [3]bool{<-after, <-after, <-after}, [3]bool{true, true, true})

	begun, ticks := time.Now(), 0
	ticker := time.NewTicker(2 * time.Millisecond)
	for range ticker.C {
		if ticks++; ticks == 10 {
			break
		}
	}
	ticker.Stop()
	check("ten ticks, not too early", time.Since(begun) >= 20*time.Millisecond, true)

	stopped := time.AfterFunc(time.Hour, func() { check("a stopped timer", "fired", "silent") })
	check("an hour's timer is stopped", stopped.Stop(), true)
	fired := make(chan string)
	time.AfterFunc(time.Hour, func() { fired <- "fired" }).Reset(time.Millisecond)
	check("a timer that was reset", <-fired, "fired")

	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Millisecond)
	defer cancel()
	select {
	case <-ctx.Done():
		check("a deadline", errors.Is(ctx.Err(), context.DeadlineExceeded), true)
	case <-time.After(time.Minute):
		check("a deadline", "missed", "kept")
	}
}
