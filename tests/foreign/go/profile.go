// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime/pprof"
	"sync"
	"time"
)

var sums [4]float64

//go:noinline
func profiledWork(which int) {
	for end := time.Now().Add(time.Second / 2); time.Now().Before(end); {
		for i := 0; i < 100000; i++ {
			sums[which] += float64(i) * 1.5
		}
	}
}

// profile: the CPU profiler's timers of each thread's CPU time find the function that computes.
func profile() {
	var packed bytes.Buffer
	worked("the profiler starts", pprof.StartCPUProfile(&packed))
	var all sync.WaitGroup
	for i := range sums {
		all.Add(1)
		go func(which int) {
			defer all.Done()
			profiledWork(which)
		}(i)
	}
	all.Wait()
	pprof.StopCPUProfile()

	reader, err := gzip.NewReader(&packed)
	worked("the profile is packed", err)
	text, err := io.ReadAll(reader)
	worked("the profile is whole", err)
	check("it names the function", bytes.Contains(text, []byte("main.profiledWork")), true)
}
