/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _USER_APP_AUDIT_PROGRAM_CHECK_H
#define _USER_APP_AUDIT_PROGRAM_CHECK_H

struct findings;
struct session;

/*
 * Watch a program as an audit does, and print whether its work is in units.
 * The session has its selector, resolved, and duration, and is over when this returns.
 * Returns 0 or an exit code, reported.
 */
int program_check(struct findings *findings, struct session *session);

#endif /* _USER_APP_AUDIT_PROGRAM_CHECK_H */
