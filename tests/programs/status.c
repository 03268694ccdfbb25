/* SPDX-License-Identifier: BSD-2-Clause */
/* status.c: ends with the status that its argument names; a second argument names a signal that it sends
 * itself instead. */
#include <signal.h>
#include <stdlib.h>

int main(int count, char **arguments)
{
    if (count > 2)
        raise(atoi(arguments[2]));
    return count > 1 ? atoi(arguments[1]) : 0;
}
