// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

type tree struct {
	left, right *tree
	padding     [32]byte
}

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{left: grow(depth - 1), right: grow(depth - 1)}
}

func (t *tree) count() int {
	if t == nil {
		return 0
	}
	return 1 + t.left.count() + t.right.count()
}

// deep recurses until the stack has grown and been copied several times.
func deep(n int) int {
	var frame [128]byte
	frame[n%128] = 1
	if n == 0 {
		return int(frame[0])
	}
	return deep(n-1) + int(frame[n%128])
}

// garbage: forced and automatic collections while goroutines make trees and drop them; finalizers; stacks
// that grow; memory that is returned.
func garbage() {
	kept := grow(14)
	var group sync.WaitGroup
	var nodes, finalized int64
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for round := 0; round < 10; round++ {
				atomic.AddInt64(&nodes, int64(grow(10).count()))
			}
		}()
	}
	for i := 0; i < 5; i++ {
		runtime.GC()
	}
	group.Wait()
	check("nodes of dropped trees", nodes, 8*10*2047)
	check("nodes of the tree that is kept", kept.count(), 1<<15-1)
	runtime.KeepAlive(kept)

	for i := 0; i < 100; i++ {
		runtime.SetFinalizer(grow(3), func(*tree) { atomic.AddInt64(&finalized, 1) })
	}
	for atomic.LoadInt64(&finalized) < 50 {
		runtime.GC()
		runtime.Gosched()
	}
	check("finalizers ran", true, true)

	depths := make(chan int)
	for i := 0; i < 4; i++ {
		go func() { depths <- deep(20000) }()
	}
	for i := 0; i < 4; i++ {
		check("a stack that grows", <-depths, 20001)
	}

	var before, after runtime.MemStats
	big := make([]byte, 16<<20)
	for i := range big {
		big[i] = byte(i)
	}
	runtime.ReadMemStats(&before)
	runtime.KeepAlive(big)
	big = nil
	debug.FreeOSMemory()
	runtime.ReadMemStats(&after)
	check("collections were counted", after.NumGC > 5, true)
	check("a large slice was freed", before.HeapAlloc-after.HeapAlloc > 15<<20, true)
	check("and returned", after.HeapReleased > before.HeapReleased, true)
}
