/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an audit found, as text or JSON.
 */
#ifndef _USER_APP_AUDIT_AUDIT_REPORT_H
#define _USER_APP_AUDIT_AUDIT_REPORT_H

struct session;

/*
 * Print the result of a session that was finished.  Returns CMD_OK, or
 * CMD_FAILED if there was nothing to measure or the output cannot be written.
 */
int report_print(struct session *session);

#endif /* _USER_APP_AUDIT_AUDIT_REPORT_H */
