/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the service says: to the journal, with fields and an id for each kind of message; where
 * there is none to stdout, errors to stderr.
 */
#ifndef _USER_APP_SERVE_SERVICE_MESSAGES_H
#define _USER_APP_SERVE_SERVICE_MESSAGES_H

#include <stddef.h>

#include "app/watch/alert-sink.h"

enum service_event {
	SERVICE_ARMED,
	SERVICE_NOT_ARMED,
	SERVICE_WAITING,
	SERVICE_DISARMED,
	SERVICE_SPOOL_FAILED,
	SERVICE_SPOOL_GOES_ON,
};

/* From here on what log.h has goes to the journal as well, if there is one. */
void service_messages_begin(void);
void service_messages_end(void);

/* @profile: the path of its file; NULL: it is of none. */
void service_say(enum service_event event, const char *profile, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* While a profile is being armed: errors are of it, and mean that it is not armed.  NULL: it is over. */
void service_messages_arming(const char *profile);

/* Until they are let go, errors are kept as @text, "" if there is none, and not said. */
void service_messages_hold(char *text, size_t size);
void service_messages_let_go(void);

void service_say_alert(const struct sunk_alert *alert, const char *text, const char *json);

#endif /* _USER_APP_SERVE_SERVICE_MESSAGES_H */
