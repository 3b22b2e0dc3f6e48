/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who has woken a thread by a signal, if it takes its signals from a descriptor (signalfd).
 *
 * A process may wait for another one's signal in the wait of its loop, as servers of several
 * processes do for a lock of their own.  What it reads then names the sender.
 */
#ifndef _KMOD_REQUEST_SIGNAL_SENDER_H
#define _KMOD_REQUEST_SIGNAL_SENDER_H

#include <linux/types.h>

struct pt_regs;

u32 pguard_signal_sender(const struct pt_regs *regs);

#endif /* _KMOD_REQUEST_SIGNAL_SENDER_H */
