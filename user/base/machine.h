/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which machine this is, since when it runs, and which load of the module it has: what makes
 * numbers that begin at one again and again unique.
 */
#ifndef _USER_BASE_MACHINE_H
#define _USER_BASE_MACHINE_H

enum { MACHINE_HOST_MAX = 256, MACHINE_BOOT_MAX = 40, MACHINE_LOAD_MAX = 96 };

struct machine_identity {
	char host[MACHINE_HOST_MAX]; /* its name; "" if it is not known, like the next one */
	char boot[MACHINE_BOOT_MAX]; /* the kernel's id of this boot, which no other has */
	char load[MACHINE_LOAD_MAX]; /* of the module, of this boot; it ends with 0 where it is not loaded */
};

/* This one, as it was when it was asked for first. */
const struct machine_identity *machine_here(void);

#endif /* _USER_BASE_MACHINE_H */
