/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Alerts as log records of OpenTelemetry, by OTLP/HTTP with JSON, to what takes these.  Those that
 * are in the journal, too: neither silenced nor folded into others.
 */
#ifndef _USER_NET_OTLP_ALERTS_H
#define _USER_NET_OTLP_ALERTS_H

#include "net/transport.h"

struct otlp_settings {
	char *url; /* of the collector, to which /v1/logs is added; NULL: none */
	char *headers; /* file with a header of each request in a line; NULL: none, as the next */
	char *ca; /* file of certificates that are trusted, instead of the system's */
};

/*
 * @settings and @machine are lent.  Returns NULL, with the reason in @why, if there is no memory
 * or the file of headers cannot be read.
 */
struct transport *otlp_alerts_new(const struct otlp_settings *settings, const char *machine,
				  const char *version, char why[TRANSPORT_WHY_MAX]);

#endif /* _USER_NET_OTLP_ALERTS_H */
