/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.c: descriptors and open files; see file.h. Each process owns its table; an open file is counted by the
 * descriptors that stand for it.
 */
#include "file.h"
#include "errno.h"
#include "linux_abi.h"
#include "process.h"

struct file *file_get(struct process *process, uint64_t number)
{
    uint32_t descriptor = (uint32_t)number; /* an int of the program's: the upper half says nothing */

    return descriptor < FILE_DESCRIPTORS_MAX ? process->files.descriptors[descriptor] : NULL;
}

int file_install(struct process *process, struct file *file, unsigned lowest, bool close_on_exec)
{
    struct file_table *table = &process->files;

    for (unsigned d = lowest; d < FILE_DESCRIPTORS_MAX; d++) {
        if (table->descriptors[d])
            continue;
        table->descriptors[d] = file;
        table->close_on_exec[d] = close_on_exec;
        file->references++;
        return (int)d;
    }
    return -EMFILE;
}

struct file *file_allocate(struct process *process)
{
    for (unsigned i = 0; i < FILE_DESCRIPTORS_MAX; i++) {
        struct file *file = &process->files.files[i];

        if (file->references == 0) {
            *file = (struct file){ 0 };
            return file;
        }
    }
    return NULL;
}

int file_close(struct process *process, uint64_t descriptor)
{
    struct file *file = file_get(process, descriptor);

    if (!file)
        return -EBADF;
    process->files.descriptors[(uint32_t)descriptor] = NULL;
    if (--file->references == 0 && file->operations->release)
        file->operations->release(file);
    return 0;
}
