/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/firmware.h: the firmware's client interface [IEEE 1275-1994 §6.3], RTAS and the hypervisor's calls
 * [PAPR §7, §14].
 */
#ifndef ARCH_FIRMWARE_H
#define ARCH_FIRMWARE_H

#include <stdint.h>

/* The hypervisor's calls return 0, or a negative status; after a positive one the call is made again. */
#define H_GET_TERM_CHAR         0x54
#define H_PUT_TERM_CHAR         0x58
#define H_EOI                   0x64
#define H_CPPR                  0x68
#define H_IPI                   0x6c
#define H_XIRR                  0x74
#define H_CEDE                  0xe0
#define H_VIO_SIGNAL            0x104
#define H_SET_MODE              0x31c
#define H_REGISTER_PROC_TABLE   0x37c
#define H_INT_GET_SOURCE_INFO   0x3a8
#define H_INT_SET_SOURCE_CONFIG 0x3ac
#define H_INT_SET_QUEUE_CONFIG  0x3b8
#define H_INT_ESB               0x3c8
#define H_INT_RESET             0x3d0
#define H_BUSY                  1

int64_t hypercall(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t *out);

/* Makes a call with five arguments, of whose answer only the status matters. */
int64_t hypercall_five(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);

/* A node of the device tree; 0: there is none. */
typedef uint32_t firmware_node;

void firmware_start(uint64_t entry);
firmware_node firmware_find(const char *path);
firmware_node firmware_child(firmware_node node);
firmware_node firmware_peer(firmware_node node);

/* Returns the node of which an instance has been opened. */
firmware_node firmware_package(uint32_t instance);

/* Copies a property's bytes, at most `room`, to memory of the kernel's image. Returns how many it has, or -1
 * if the node does not have it. */
int firmware_property(firmware_node node, const char *name, void *to, unsigned room);

/* Tells the firmware what this kernel can do, and gets what the machine has of that: radix tables, XIVE.
 * Returns 0, or what the firmware answers. */
int firmware_negotiate(void);

/* Ends the use of the client interface. */
void firmware_quiesce(void);

/* Calls 32-bit big-endian code of the firmware at `at` with an array: `first`, the counts, `count` arguments,
 * and room for answers, all ones at first; returns r3. `base` goes with RTAS. One CPU at a time.
 */
#define FIRMWARE_CELLS 12
uint32_t firmware_call(uint32_t at, uint32_t base, uint32_t first, unsigned count, const uint32_t *in,
                       unsigned answers, uint32_t *out);

/* Copies RTAS, of "rtas-size" bytes, to that address. Returns its entry, or 0. */
uint32_t firmware_rtas_start(uint32_t base);

#endif
