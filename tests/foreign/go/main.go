// SPDX-License-Identifier: BSD-2-Clause

// Checks Go's runtime: goroutines on as many threads as there are CPUs, channels, garbage collection,
// timers, signals, threads of a goroutine's own, HTTP. Each part prints the same on every machine, whatever
// GOMAXPROCS is, and ends the program with 1 if a check has failed:
//
//	go goroutines | channels | garbage | timers | signals | threads | files | profile | all
//	go network          HTTP and datagrams over loopback
//	go serve ADDRESS    an HTTP server, until it is killed
//	go exchange URL     clients of such a server
package main

import (
	"fmt"
	"os"
)

var wrong = false

// check prints what was found, and marks it if it is not what was expected.
func check[T comparable](what string, got, expected T) {
	if got != expected {
		fmt.Printf("%s: %v WRONG, expected %v\n", what, got, expected)
		wrong = true
		return
	}
	fmt.Printf("%s: %v\n", what, got)
}

// worked prints what was tried, and marks it if there was an error.
func worked(what string, err error) {
	check(what, fmt.Sprint(err), "<nil>")
}

func main() {
	parts := []struct {
		name string
		run  func()
	}{
		{"goroutines", goroutines},
		{"channels", channels},
		{"garbage", garbage},
		{"timers", timers},
		{"signals", signals},
		{"threads", threads},
		{"files", files},
		{"profile", profile},
	}
	chosen := "all"
	if len(os.Args) > 1 {
		chosen = os.Args[1]
	}
	ran := true
	switch {
	case chosen == "network":
		network()
	case chosen == "serve" && len(os.Args) > 2:
		serve(os.Args[2])
	case chosen == "exchange" && len(os.Args) > 2:
		check("exchanges", exchanges(os.Args[2], 8), 8)
	default:
		ran = false
	}
	for _, part := range parts {
		if chosen == part.name || chosen == "all" {
			part.run()
			ran = true
		}
	}
	if !ran {
		fmt.Fprintf(os.Stderr, "no such part: %s\n", chosen)
		os.Exit(2)
	}
	if wrong {
		os.Exit(1)
	}
}
