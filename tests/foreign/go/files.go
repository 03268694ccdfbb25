// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// files: pipes of the runtime's poller (epoll), files in /tmp from many goroutines, folders, JSON.
func files() {
	reader, writer, err := os.Pipe()
	worked("os.Pipe", err)
	go func() {
		for i := 0; i < 1000; i++ {
			fmt.Fprintf(writer, "line %d\n", i)
		}
		writer.Close()
	}()
	lines := 0
	for scanner := bufio.NewScanner(reader); scanner.Scan(); lines++ {
	}
	check("lines through a pipe", lines, 1000)

	folder, err := os.MkdirTemp("/tmp", "go")
	worked("a folder", err)
	defer os.RemoveAll(folder)
	var group sync.WaitGroup
	for i := 0; i < 20; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			text := make([]byte, 1000*i)
			for n := range text {
				text[n] = byte(n * i)
			}
			_ = os.WriteFile(filepath.Join(folder, fmt.Sprintf("file%02d", i)), text, 0o644)
		}(i)
	}
	group.Wait()
	entries, err := os.ReadDir(folder)
	worked("ReadDir", err)
	hash := sha256.New()
	for _, entry := range entries {
		file, err := os.Open(filepath.Join(folder, entry.Name()))
		if err == nil {
			_, err = io.Copy(hash, file)
			file.Close()
		}
		if err != nil {
			worked(entry.Name(), err)
		}
	}
	check("files", len(entries), 20)
	sum := fmt.Sprintf("%x", hash.Sum(nil))
	check("their sum", sum[:16], "497b5ab2fec8b73e")

	text, err := json.Marshal(map[string]any{"a": []int{1, 2}, "b": 1.5, "c": nil})
	check("json", string(text), `{"a":[1,2],"b":1.5,"c":null}`)
	worked("without error", err)
}
