/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qemu_plugin.h: the part of QEMU's interface for TCG plugins that is used here, version 2 and later (QEMU
 * manual, "QEMU TCG Plugins"). The functions are in QEMU and are linked when it loads a plugin. Debian has no
 * package with QEMU's own header.
 */
#ifndef QEMU_PLUGIN_H
#define QEMU_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define QEMU_PLUGIN_INTERFACE 2
#define QEMU_PLUGIN_EXPORT    __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_plugin_tb;   /* a translated block of consecutive instructions */
struct qemu_plugin_insn; /* one instruction */

enum { PLUGIN_NO_REGISTERS = 0 };     /* what a callback does with registers */
enum { PLUGIN_READS_AND_WRITES = 3 }; /* which accesses a callback is for */
typedef void plugin_done(plugin_id id);
typedef void plugin_translated(plugin_id id, struct qemu_plugin_tb *block);
typedef void plugin_executed(unsigned cpu, void *data);
typedef void plugin_accessed(unsigned cpu, uint32_t access, uint64_t address, void *data);
typedef void plugin_ended(plugin_id id, void *data);

/* Initialises the plugin. QEMU calls it with the words after the file's name; 0 means success. */
QEMU_PLUGIN_EXPORT int qemu_plugin_install(plugin_id id, const void *machine, int argc, char **argv);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, plugin_translated *call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, plugin_executed *call, int registers,
                                          void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction, plugin_accessed *call,
                                      int registers, int accesses, void *data);
void qemu_plugin_register_atexit_cb(plugin_id id, plugin_ended *call, void *data);

/* Removes all callbacks and has all code translated again; then calls `done`, asynchronously. */
void qemu_plugin_reset(plugin_id id, plugin_done *done);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
/* Copies an instruction's bytes, at most `room`; since QEMU 9.1. */
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction, void *to, size_t room);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, plugin_executed *call,
                                            int registers, void *data);
unsigned qemu_plugin_mem_size_shift(uint32_t access); /* the access has 2 to this power bytes */

#endif /* QEMU_PLUGIN_H */
