/* SPDX-License-Identifier: GPL-2.0 */
/* A probe: the kernel's breakpoint at a site. */
#ifndef _KMOD_PROBE_PROBE_H
#define _KMOD_PROBE_PROBE_H

#include "probe/code.h"
#include "probe/site.h"

#include <linux/types.h>

/* Relies on the one before it. */
#include <linux/uprobes.h>

#define PGUARD_PROBE_NOWHERE	PAGE_SIZE

/**
 * struct pguard_probe - a breakpoint in every memory that the filter accepts
 * @inode: of the lowest layer, to which the kernel ties its breakpoints; kept
 *	by who made the probe
 * @end: pguard_uprobe_next() of the last consumer that the kernel calls at this place
 * @is_on: it is registered; the lock of its target
 * @carries_out_at: the offset within its page at which the handler carries the instruction out,
 *	if the module can; PGUARD_PROBE_NOWHERE while the kernel steps it for another user
 * @code: the instruction under it
 */
struct pguard_probe {
	struct uprobe_consumer consumer;
	struct uprobe *handle;
	struct inode *inode;
	u64 offset;
	const void *end;
	bool is_on;
	u32 carries_out_at;
	struct pguard_code code;
	struct pguard_site site;
};

int pguard_probe_register(struct pguard_probe *probe);
void pguard_probe_unregister(struct pguard_probe *probe);
void pguard_probe_look(struct pguard_probe *probe);
void pguard_probe_sync(void);

#endif /* _KMOD_PROBE_PROBE_H */
