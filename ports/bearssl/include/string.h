/* SPDX-License-Identifier: BSD-2-Clause */
/* string.h: what BearSSL's sources include: the kernel's own. */
#include "lib/kstring.h"
