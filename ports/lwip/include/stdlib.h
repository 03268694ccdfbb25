/* SPDX-License-Identifier: BSD-2-Clause */
/* stdlib.h: included by lwIP's sources, which use nothing of it here. */
