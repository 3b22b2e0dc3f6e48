/* SPDX-License-Identifier: GPL-2.0 */
/* The stack of the calling thread, in the module's format. */
#ifndef _PGUARD_OWN_STACK_H
#define _PGUARD_OWN_STACK_H

struct slice;

/*
 * From here on to the stack's end, with the registers and mappings; of the main
 * thread.  The bytes are overwritten by the next one.  Ends the program if it
 * fails.
 */
void own_stack(struct slice *ret);

#endif /* _PGUARD_OWN_STACK_H */
