/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jobs.c: numbers of jobs, and tickets for them (conductor.h, docs/jobs.md). A node may require a ticket,
 * which a node requires, which the conductor makes with the nodes' key.
 */
#include "service/conductor/conductor.h"
#include "launch/launch_request.h"
#include "service/lib/text.h"
#include <inttypes.h>

void ticket_write(const char *text, struct json *answer)
{
    uint64_t nonce;

    if (nonce_read(text, &nonce))
        json_print(answer, "{\"ticket\": \"%016" PRIx64 "\"}\n", launch_ticket(conductor.key, nonce));
    else
        json_error(answer, "ticket takes a node's nonce: 16 hexadecimal digits");
}

void jobs_start(void)
{
    conductor.last_job = (uint32_t)(conductor.timeline.epoch_ns / SECOND_NS);
}

uint32_t job_number_next(void)
{
    if (!++conductor.last_job)
        conductor.last_job = 1;
    return conductor.last_job;
}
