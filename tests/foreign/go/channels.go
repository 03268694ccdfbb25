// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"context"
	"sync"
)

// channels: a chain of a thousand goroutines, a crew that shares its work, a sieve, a cancelled context.
func channels() {
	first := make(chan int)
	last := first
	for i := 0; i < 1000; i++ {
		next := make(chan int)
		go func(from, to chan int) {
			for value := range from {
				to <- value + 1
			}
			close(to)
		}(last, next)
		last = next
	}
	go func() {
		for i := 0; i < 20; i++ {
			first <- i
		}
		close(first)
	}()
	sum, count := 0, 0
	for value := range last {
		sum, count = sum+value, count+1
	}
	check("through a chain of 1000", sum, 20*1000+190)
	check("values that came", count, 20)

	work, done := make(chan int, 16), make(chan int)
	var group sync.WaitGroup
	for i := 0; i < 50; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			own := 0
			for value := range work {
				own += value * value
			}
			done <- own
		}()
	}
	go func() {
		for i := 1; i <= 20000; i++ {
			work <- i
		}
		close(work)
		group.Wait()
		close(done)
	}()
	sum = 0
	for own := range done {
		sum += own
	}
	check("squares of a crew of 50", sum, 20000*20001*40001/6)

	ctx, cancel := context.WithCancel(context.Background())
	prime, source := 0, make(chan int)
	go func() {
		defer close(source)
		for i := 2; ; i++ {
			select {
			case source <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	sieve := source
	for i := 0; i < 200; i++ {
		prime = <-sieve
		filtered := make(chan int)
		go func(from, to chan int, prime int) {
			defer close(to)
			for value := range from {
				if value%prime != 0 {
					select {
					case to <- value:
					case <-ctx.Done():
						return
					}
				}
			}
		}(sieve, filtered, prime)
		sieve = filtered
	}
	cancel()
	check("the 200th prime", prime, 1223)
}
