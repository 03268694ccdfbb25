/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3.c: iperf3 as a static program: this main function and Debian's library, which has the rest. It takes
 * iperf3's options, and ends with its status. A server runs until it is killed; with -1 it serves one client.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

/* Needs the types of the headers above. */
#include <iperf_api.h>

static int serve(struct iperf_test *test)
{
    for (;;) {
        if (iperf_run_server(test) < 0)
            iperf_err(test, "error - %s", iperf_strerror(i_errno));
        if (iperf_get_test_one_off(test))
            return 0;
        iperf_reset_test(test);
    }
}

int main(int argc, char **argv)
{
    struct iperf_test *test = iperf_new_test();
    int status;

    if (!test || iperf_defaults(test) < 0) {
        perror("iperf3");
        return 1;
    }
    if (iperf_parse_arguments(test, argc, argv) < 0) {
        iperf_err(test, "parameter error - %s", iperf_strerror(i_errno));
        return 1;
    }
    /* A peer that goes away is an error of the call, not a signal. */
    signal(SIGPIPE, SIG_IGN);
    if (iperf_get_test_role(test) == 's')
        return serve(test);
    status = iperf_run_client(test) < 0;
    if (status)
        iperf_err(test, "error - %s", iperf_strerror(i_errno));
    iperf_free_test(test);
    return status;
}
