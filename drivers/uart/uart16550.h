/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uart16550.h: serial ports of the PC as console devices.
 */
#ifndef TACET_UART16550_H
#define TACET_UART16550_H

/* Registers every 16550 that answers at the four PC addresses, as com1 … com4. */
void uart_register_all(void);

#endif
