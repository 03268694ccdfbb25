/* SPDX-License-Identifier: BSD-2-Clause */
/* ioctl.c: what is no terminal says so. */
#include "conform.h"

#include <sys/ioctl.h>
#include <termios.h>

CONFORM(ioctl)
{
    char answer[256];
    int file = (int)sys(SYS_open, TEXT, O_RDONLY);

    result("TCGETS of /dev/null", sys(SYS_ioctl, 0, TCGETS, answer));
    result("TIOCGWINSZ of /dev/null", sys(SYS_ioctl, 0, TIOCGWINSZ, answer));
    result("TCGETS of a file", sys(SYS_ioctl, file, TCGETS, answer));
    result("no such request of a file", sys(SYS_ioctl, file, 0x12345678, answer));
    result("a closed descriptor", sys(SYS_ioctl, 40, TCGETS, answer));
}
