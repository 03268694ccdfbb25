/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interface_facts.c: what programs ask of interfaces by ioctl (SIOCGIF*).
 */
#include "lib/errno.h"
#include "net/inet.h"

long inet_control(struct file *file, uint32_t request, uint64_t argument)
{
    (void)file, (void)request, (void)argument;
    return -ENOTTY;
}
