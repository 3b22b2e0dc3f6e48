/* SPDX-License-Identifier: GPL-2.0 */
/* The probe that sees where threads were when a signal came upon them. */
#ifndef _KMOD_INLINE_SIGNAL_PROBE_H
#define _KMOD_INLINE_SIGNAL_PROBE_H

int pguard_signal_probe_start(void);
void pguard_signal_probe_stop(void);

#endif /* _KMOD_INLINE_SIGNAL_PROBE_H */
