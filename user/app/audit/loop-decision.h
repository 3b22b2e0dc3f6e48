/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the evidence of one image to its event loops, with numbers that stay
 * the same when the decision is made again on more evidence.
 */
#ifndef _USER_APP_AUDIT_LOOP_DECISION_H
#define _USER_APP_AUDIT_LOOP_DECISION_H

struct image;

/*
 * Decide which waits of @image are its loops' own; fills in its contexts and
 * loops.  Returns 1 if the contexts changed, 0 if not, or -ENOMEM.
 */
int decision_make(struct image *image);

#endif /* _USER_APP_AUDIT_LOOP_DECISION_H */
