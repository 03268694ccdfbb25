// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// pattern is a body that differs in each of its blocks.
func pattern(length int) []byte {
	body := make([]byte, length)
	for i := range body {
		body[i] = byte(i*i>>9 ^ i)
	}
	return body
}

// handler answers /sum with the sum of the request's body and /bytes with a pattern of `n` bytes.
func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/sum", func(answer http.ResponseWriter, request *http.Request) {
		hash := sha256.New()
		_, _ = io.Copy(hash, request.Body)
		fmt.Fprintf(answer, "%x", hash.Sum(nil))
	})
	mux.HandleFunc("/bytes", func(answer http.ResponseWriter, request *http.Request) {
		length := 0
		_, _ = fmt.Sscan(request.URL.Query().Get("n"), &length)
		_, _ = answer.Write(pattern(length))
	})
	return mux
}

// exchange sends a body of `length` bytes and gets one; "" if both were right.
func exchange(client *http.Client, url string, length int) string {
	sent := pattern(length)
	answer, err := client.Post(url+"/sum", "application/octet-stream", bytes.NewReader(sent))
	if err != nil {
		return err.Error()
	}
	sum, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || string(sum) != fmt.Sprintf("%x", sha256.Sum256(sent)) {
		return fmt.Sprint("another sum: ", string(sum), err)
	}
	answer, err = client.Get(fmt.Sprintf("%s/bytes?n=%d", url, length))
	if err != nil {
		return err.Error()
	}
	got, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || !bytes.Equal(got, sent) {
		return fmt.Sprintf("another body: %d bytes, %v", len(got), err)
	}
	return ""
}

// exchanges has `clients` goroutines exchange bodies with a server, and says how many were right.
func exchanges(url string, clients int) (right int) {
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 50 * time.Second}
	var group sync.WaitGroup
	said := make([]string, clients)
	for i := range said {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for _, length := range []int{0, 1, 5000, 30000 + 1000*i} {
				if said[i] == "" {
					said[i] = exchange(client, url, length)
				}
			}
		}(i)
	}
	group.Wait()
	for _, why := range said {
		if why == "" {
			right++
		} else {
			fmt.Println(why)
		}
	}
	return right
}

// network: an HTTP server and its clients over loopback, datagrams, time limits, refused connections.
func network() {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	worked("Listen", err)
	server := &http.Server{Handler: handler()}
	ended := make(chan error)
	go func() { ended <- server.Serve(listener) }()
	check("exchanges", exchanges("http://"+listener.Addr().String(), 8), 8)
	worked("Shutdown", server.Shutdown(context.Background()))
	check("the server's end", errors.Is(<-ended, http.ErrServerClosed), true)
	_, err = net.Dial("tcp4", listener.Addr().String())
	check("no listener", errors.Is(err, syscall.ECONNREFUSED), true)

	echo, err := net.ListenPacket("udp4", "127.0.0.1:0")
	worked("ListenPacket", err)
	go func() {
		buffer := make([]byte, 2000)
		for {
			length, from, err := echo.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = echo.WriteTo(buffer[:length], from)
		}
	}()
	connection, err := net.Dial("udp4", echo.LocalAddr().String())
	worked("Dial", err)
	echoed := 0
	for i := 0; i < 50; i++ {
		text, buffer := fmt.Sprint("datagram ", i), make([]byte, 100)
		_, _ = io.WriteString(connection, text)
		if length, err := connection.Read(buffer); err == nil && string(buffer[:length]) == text {
			echoed++
		}
	}
	check("datagrams", echoed, 50)
	_ = connection.SetReadDeadline(time.Now().Add(3 * time.Millisecond))
	_, err = connection.Read(make([]byte, 10))
	check("a time limit", errors.Is(err, os.ErrDeadlineExceeded), true)
	worked("Close", connection.Close())
	worked("Close", echo.Close())
}

// serve answers at an address until the program is killed.
func serve(address string) {
	listener, err := net.Listen("tcp4", address)
	worked("Listen", err)
	if err == nil {
		fmt.Println("ready")
		worked("Serve", http.Serve(listener, handler()))
	}
}
