/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transport.h: what a session needs from outside: a connection that moves bytes, the time, sleep, memory.
 * stream.c has them for the kernel; the host tests have sockets and threads.
 *
 * Nothing here waits unless it says so. Several threads may use a transport at once, one of them to read, one
 * to write, one to wait.
 */
#ifndef TACET_NINEP_TRANSPORT_H
#define TACET_NINEP_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

struct ninep_transport {
    uint32_t address; /* the server's address; host byte order */
    uint16_t port;
    void *connection; /* NULL: there is none */
};

/* Connects; waits at most until the deadline. Returns 0 or an error. */
int ninep_transport_open(struct ninep_transport *transport, uint64_t deadline_ns);
void ninep_transport_close(struct ninep_transport *transport);

/* Moves what can be moved now. Returns its bytes; -EAGAIN for none; 0 from reading at the end; another
 * error. */
int64_t ninep_transport_read(struct ninep_transport *transport, void *bytes, uint64_t count);
int64_t ninep_transport_write(struct ninep_transport *transport, const void *bytes, uint64_t count);

/* Waits until there is something to read (or room to write), at most until the deadline; it may also return
 * without cause. Signals do not end it. */
void ninep_transport_wait(struct ninep_transport *transport, bool write_too, uint64_t deadline_ns);

uint64_t ninep_now_ns(void);
uint64_t ninep_random(void);

/* A thread that sleeps until another one wakes it, or until the deadline, whatever signals come. */
struct ninep_sleeper {
    void *thread;
    uint32_t woken;
};
void ninep_sleeper_begin(struct ninep_sleeper *sleeper);
void ninep_sleep(struct ninep_sleeper *sleeper, uint64_t deadline_ns);
void ninep_wake(struct ninep_sleeper *sleeper); /* the sleeper's memory is there until it returns */

/* Allocates memory of the calling rank; before there are ranks, of the kernel. Returns NULL if too little is
 * free. */
void *ninep_allocate(uint64_t bytes);
void ninep_free(void *memory, uint64_t bytes);

/* Prints on the console what becomes of a server. */
void ninep_say(const char *source, const char *what);

#endif
