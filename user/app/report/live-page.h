/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A page of what the module has now: the alerts that it still has, and the types of what is armed.
 */
#ifndef _USER_APP_REPORT_LIVE_PAGE_H
#define _USER_APP_REPORT_LIVE_PAGE_H

/* Returns an enum cmd_exit; an error is reported. */
int live_page_write(const char *output);

#endif /* _USER_APP_REPORT_LIVE_PAGE_H */
