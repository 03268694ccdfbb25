/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text_file.h: open pseudo files. Their contents are made when the file is opened, in memory of the process's
 * slice that grows with them, and do not change until the last descriptor is closed.
 */
#ifndef TACET_TEXT_FILE_H
#define TACET_TEXT_FILE_H

#include "fs/file.h"
#include "lib/format.h"

/* The operations of a read-only pseudo file. A file that can be written has operations of its own, with these
 * for the rest. */
extern const struct file_operations text_operations;
int64_t text_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset);
uint64_t text_size(const struct file *file);
void text_release(struct file *file);

/* Lets `make` write the contents with the functions below. Returns -ENOMEM if the slice has no room for
 * them. */
int text_bind(struct file *file, const struct file_operations *operations, void (*make)(struct file *file));

/* Appends to the contents; called by `make`. Functions that describe something to a sink (format.h) are given
 * &file->text.sink. If memory runs out, the contents are lost, and text_bind fails. */
__attribute__((format(printf, 2, 3))) void text_add(struct file *file, const char *format, ...);
void text_add_bytes(void *file, const void *bytes, uint64_t count);
/* Appends the program's memory up to `end`; adds nothing if it cannot be read. */
void text_add_user(struct file *file, uint64_t address, uint64_t end);

#endif
