// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signals: the process sends signals to itself, one by one and many at once, while goroutines compute; one is
// ignored, and one is no longer ignored.
func signals() {
	self := os.Getpid()
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, syscall.SIGUSR1)
	for i := 0; i < 200; i++ {
		if err := syscall.Kill(self, syscall.SIGUSR1); err != nil {
			worked("kill", err)
		}
		if got := <-arrived; got != syscall.SIGUSR1 {
			check("signal", got.String(), syscall.SIGUSR1.String())
		}
	}
	check("SIGUSR1 to itself, one by one", 200, 200)

	stop := make(chan struct{})
	var computing sync.WaitGroup
	sums := make([]int, 4)
	for i := range sums {
		computing.Add(1)
		go func(i int) {
			defer computing.Done()
			for {
				select {
				case <-stop:
					return
				default:
					for n := 0; n < 10000; n++ {
						sums[i] += n & 1
					}
				}
			}
		}(i)
	}
	for i := 0; i < 50; i++ {
		_ = syscall.Kill(self, syscall.SIGUSR1)
		<-arrived
	}
	close(stop)
	computing.Wait()
	whole := true
	for _, sum := range sums {
		whole = whole && sum%5000 == 0
	}
	check("sums that signals interrupted", whole, true)

	signal.Ignore(syscall.SIGUSR2)
	_ = syscall.Kill(self, syscall.SIGUSR2)
	signal.Reset(syscall.SIGUSR2)
	both := make(chan os.Signal, 2)
	signal.Notify(both, syscall.SIGUSR2, syscall.SIGTERM)
	_ = syscall.Kill(self, syscall.SIGTERM)
	check("SIGTERM is caught", (<-both).String(), syscall.SIGTERM.String())
	signal.Stop(both)
	signal.Stop(arrived)
}
