/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Alerts into a JetStream stream, each on SUBJECT.alerts.MACHINE with its key as Nats-Msg-Id.
 */
#ifndef _USER_NET_NATS_ALERTS_H
#define _USER_NET_NATS_ALERTS_H

#include "net/transport.h"

struct nats_settings;

/* @settings are lent.  Connects when it is used first.  NULL: out of memory. */
struct transport *nats_alerts_new(const struct nats_settings *settings, const char *machine);

#endif /* _USER_NET_NATS_ALERTS_H */
