/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether clients ask the program for anything while it is trained.  A program that
 * listens and to which nobody sends a message has no load: its background threads run.
 */
#ifndef _USER_APP_RECORD_CLIENTS_H
#define _USER_APP_RECORD_CLIENTS_H

struct recording;

/* Count the messages of clients from now on.  Returns 0 or an exit code, reported. */
int clients_follow(struct recording *recording);

/* Warn if the program listens and none came; count no more.  Returns as above. */
int clients_judge(struct recording *recording);

#endif /* _USER_APP_RECORD_CLIENTS_H */
