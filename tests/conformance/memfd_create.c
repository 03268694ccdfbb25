/* SPDX-License-Identifier: BSD-2-Clause */
/* memfd_create.c: memory with a descriptor and no name. */
#include "conform.h"

CONFORM(memfd_create)
{
    struct stat status;
    char name[256], *place;
    int file = (int)sys(SYS_memfd_create, "conform", MFD_CLOEXEC);

    result("made", file);
    result("FD_CLOEXEC", sys(SYS_fcntl, file, F_GETFD));
    result("write", sys(SYS_write, file, "12345", 5));
    sys(SYS_fstat, file, &status);
    result("size", status.st_size);
    result("made longer", sys(SYS_ftruncate, file, 2 * PAGE));
    place = (char *)sys(SYS_mmap, NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    holds("mapped", (unsigned long)place < -4095UL && place[0] == '1' && place[PAGE] == 0);
    memset(name, 'n', sizeof(name));
    name[250] = 0;
    result("a name of 250 bytes", sys(SYS_memfd_create, name, 0));
    name[249] = 0;
    holds("a name of 249 bytes", sys(SYS_memfd_create, name, 0) > 0);
    result("a name at nobody's", sys(SYS_memfd_create, NOWHERE, 0));
    result("a flag that there is not", sys(SYS_memfd_create, "conform", 0x100));
    result("no seal without MFD_ALLOW_SEALING", sys(SYS_fcntl, file, F_GET_SEALS));
    file = (int)sys(SYS_memfd_create, "conform", MFD_ALLOW_SEALING);
    result("with it none", sys(SYS_fcntl, file, F_GET_SEALS));
}
