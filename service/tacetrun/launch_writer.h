/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launch_writer.h: encodes the request that tacetrun sends to a node; the node decodes it with
 * launch_request_read (docs/jobs.md, "The request"). Portable C.
 */
#ifndef TACET_SERVICE_LAUNCH_WRITER_H
#define TACET_SERVICE_LAUNCH_WRITER_H

#include "launch/launch_request.h"
#include <stddef.h>

/* Writes the words of a request; arguments, variables and numbers keep their order. The values must be in the
 * ranges of docs/jobs.md, which are not checked here. Returns the number of bytes; 0 if they are more than
 * `room` or LAUNCH_REQUEST_BYTES. */
size_t launch_request_write(const struct launch_request *request, char *bytes, size_t room);

#endif
