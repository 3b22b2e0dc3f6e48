/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of the kernel, which are not exported by name, so they are looked for. */
#ifndef _KMOD_LIB_TRACEPOINT_H
#define _KMOD_LIB_TRACEPOINT_H

struct tracepoint;

struct tracepoint *pguard_tracepoint_find(const char *name);

#endif /* _KMOD_LIB_TRACEPOINT_H */
