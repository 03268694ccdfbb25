// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

type cpuSet [16]uint64

func affinity(number uintptr, set *cpuSet) (uintptr, syscall.Errno) {
	size, _, errno := syscall.RawSyscall(number, 0, unsafe.Sizeof(*set), uintptr(unsafe.Pointer(set)))
	return size, errno
}

func (set *cpuSet) cpus() (cpus []int) {
	for i := 0; i < len(set)*64; i++ {
		if set[i/64]>>(i%64)&1 != 0 {
			cpus = append(cpus, i)
		}
	}
	return cpus
}

// threads: goroutines that each have their own thread. They block in calls, have their own thread number,
// bind their thread to a CPU, also one that others use, and end with their thread.
func threads() {
	const count = 6
	var all cpuSet
	_, errno := affinity(syscall.SYS_SCHED_GETAFFINITY, &all)
	check("affinity is known", errno == 0, true)
	cpus := all.cpus()
	check("as many CPUs as Go finds", len(cpus) == runtime.NumCPU(), true)

	var group, started sync.WaitGroup
	var lock sync.Mutex
	numbers, bound, moved := make(map[int]bool), 0, 0
	started.Add(count)
	for i := 0; i < count; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			number := syscall.Gettid()
			started.Done()
			started.Wait()

			var one, now cpuSet
			cpu := cpus[i%len(cpus)]
			one[cpu/64] = 1 << (cpu % 64)
			_, errno := affinity(syscall.SYS_SCHED_SETAFFINITY, &one)
			for n := 0; n < 100; n++ {
				runtime.Gosched()
			}
			_, _ = affinity(syscall.SYS_SCHED_GETAFFINITY, &now)
			lock.Lock()
			defer lock.Unlock()
			numbers[number] = true
			if errno == 0 && now == one {
				bound++
			}
			if syscall.Gettid() != number {
				moved++
			}
		}(i)
	}
	group.Wait()
	check("threads of their own", len(numbers), count)
	check("threads that were bound", bound, count)
	check("goroutines that left their thread", moved, 0)

	// Threads that block in a call; the others go on, because the runtime makes more.
	var pipes [count][2]int
	for i := range pipes {
		if err := syscall.Pipe(pipes[i][:]); err != nil {
			worked("pipe", err)
		}
	}
	bytes := make(chan int, count)
	for i := range pipes {
		go func(i int) {
			buffer := make([]byte, 1)
			if n, _ := syscall.Read(pipes[i][0], buffer); n == 1 {
				bytes <- int(buffer[0])
			} else {
				bytes <- -1
			}
		}(i)
	}
	sum := 0
	for i := range pipes {
		for n := 0; n < 10; n++ {
			runtime.Gosched()
		}
		_, _ = syscall.Write(pipes[i][1], []byte{byte(i + 1)})
	}
	for range pipes {
		sum += <-bytes
	}
	check("bytes of threads that blocked", sum, count*(count+1)/2)
}
