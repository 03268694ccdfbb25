/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pidfd.c: processes as files, pidfd_open(2): ranks of the node. Such a file becomes readable when its
 * process ends. The structure of a process stays until the job's end, so it needs no reference. Runs in
 * system calls.
 */
#include "fs/file.h"
#include "fs/linux_files.h"
#include "process/event.h"
#include "process/process.h"

static unsigned pidfd_ready(struct file *file)
{
    struct process *process = file->object;

    event_audience_add(&process->end_audience, process);
    return __atomic_load_n(&process->has_ended, __ATOMIC_SEQ_CST) ? READY_IN : 0;
}

static uint64_t pidfd_events(const struct file *file)
{
    return event_of(file->object);
}

static const struct file_operations pidfd_operations = { .ready = pidfd_ready,
                                                         .activity = file_changes,
                                                         .events = pidfd_events,
                                                         .name = "anon_inode:[pidfd]",
                                                         .waits = true };

long pidfd_create(struct process *process, unsigned flags)
{
    FILE_REFERENCE file;
    int error = file_make(&pidfd_operations, O_RDWR | flags, &file);

    if (error)
        return error;
    file->object = process;
    return file_install(file->process, file, 0, true);
}

struct process *pidfd_process(const struct file *file)
{
    return file->operations == &pidfd_operations ? file->object : NULL;
}
