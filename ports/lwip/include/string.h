/* SPDX-License-Identifier: BSD-2-Clause */
/* string.h: what lwIP's sources include: the kernel's own. */
#include "lib/kstring.h"
