/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launch_writer.h: the bytes of a request, as tacetrun sends it to a node; launch_request_read is the node's
 * part (docs/jobs.md, "The request"). Pure C.
 */
#ifndef TACET_SERVICE_LAUNCH_WRITER_H
#define TACET_SERVICE_LAUNCH_WRITER_H

#include "launch/launch_request.h"
#include <stddef.h>

/* Writes the words of a request: the arguments, variables and numbers in their order. What is sent is read as
 * the same request where its values are in the ranges of docs/jobs.md; they are not checked here. The bytes,
 * or 0 where they are more than `room` or than LAUNCH_REQUEST_BYTES. */
size_t launch_request_write(const struct launch_request *request, char *bytes, size_t room);

#endif
