// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"errors"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
)

// goroutines: thousands at a time, that lock, meet, compute without ever calling, and panic.
func goroutines() {
	const count = 10000
	var group sync.WaitGroup
	var lock sync.Mutex
	var atomics int64
	locked, seen := 0, make(map[int]bool)

	for i := 0; i < count; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			atomic.AddInt64(&atomics, int64(i))
			runtime.Gosched()
			lock.Lock()
			defer lock.Unlock()
			locked++
			seen[i%1000] = true
		}(i)
	}
	group.Wait()
	check("sum over goroutines", atomics, count*(count-1)/2)
	check("goroutines with the lock", locked, count)
	check("keys that they left", len(seen), 1000)

	// The runtime preempts a goroutine that computes without a call by a signal, so that the others go on.
	var stop, rounds int64
	var spinners sync.WaitGroup
	for i := 0; i < runtime.GOMAXPROCS(0); i++ {
		spinners.Add(1)
		go func() {
			defer spinners.Done()
			for atomic.LoadInt64(&stop) == 0 {
				atomic.AddInt64(&rounds, 1)
			}
		}()
	}
	for i := 0; i < 10 || atomic.LoadInt64(&rounds) == 0; i++ { // the other goroutines may have run until now
		runtime.Gosched()
	}
	atomic.StoreInt64(&stop, 1)
	spinners.Wait()
	check("goroutines that compute give way", rounds > 0, true)

	// A condition, once, a pool, a panic that is recovered.
	var once sync.Once
	begun, ready := 0, false
	condition := sync.NewCond(&lock)
	for i := 0; i < 100; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			once.Do(func() { begun++ })
			lock.Lock()
			for !ready {
				condition.Wait()
			}
			lock.Unlock()
		}()
	}
	lock.Lock()
	ready = true
	lock.Unlock()
	condition.Broadcast()
	group.Wait()
	check("once", begun, 1)

	result := make(chan error)
	go func() {
		defer func() { result <- recover().(error) }()
		var none *struct{ field [64]int }
		none.field[0]++ // a fault, which the runtime turns into a panic
	}()
	var fault runtime.Error
	check("a fault is recovered", errors.As(<-result, &fault), true)

	numbers := make([]int, 200000)
	for i := range numbers {
		numbers[i] = i * 7919 % len(numbers)
	}
	sorted := merge(numbers, 6)
	check("sorted by many goroutines", sort.IntsAreSorted(sorted) && len(sorted) == len(numbers), true)
}

// merge sorts by goroutines, 2^depth of them.
func merge(numbers []int, depth int) []int {
	if depth == 0 {
		sorted := append([]int(nil), numbers...)
		sort.Ints(sorted)
		return sorted
	}
	half := make(chan []int)
	go func() { half <- merge(numbers[:len(numbers)/2], depth-1) }()
	right := merge(numbers[len(numbers)/2:], depth-1)
	left, sorted := <-half, make([]int, 0, len(numbers))
	for len(left) > 0 && len(right) > 0 {
		if left[0] <= right[0] {
			sorted, left = append(sorted, left[0]), left[1:]
		} else {
			sorted, right = append(sorted, right[0]), right[1:]
		}
	}
	return append(append(sorted, left...), right...)
}
