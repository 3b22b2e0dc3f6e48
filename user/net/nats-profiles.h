/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Profiles of many machines in a key-value bucket of JetStream, by build id and machine.  A message
 * has a bounded size, so a profile is there in parts; its label is written last:
 *
 *	profile.BUILD-ID.MACHINE	the label, a line of text
 *	part.BUILD-ID.MACHINE.N	bytes
 *
 * What comes from there was written by others: label and bytes are checked by who gets them.
 */
#ifndef _USER_NET_NATS_PROFILES_H
#define _USER_NET_NATS_PROFILES_H

#include <stddef.h>
#include <stdint.h>

#include "net/transport.h"

struct nats_profiles;
struct nats_settings;

enum { NATS_LABEL_MAX = 4352 };

/* The functions that follow return 0 or a negative errno with the reason in @why. */

/* Open the bucket; make it, if there is none and that is permitted. */
int nats_profiles_open(const struct nats_settings *settings, struct nats_profiles **ret,
		       char why[TRANSPORT_WHY_MAX]);
void nats_profiles_close(struct nats_profiles *profiles);

/* Publish a profile; nothing, if it is there with the same label. */
int nats_profiles_put(struct nats_profiles *profiles, const char *build_id, const char *machine,
		      const char *label, const uint8_t *bytes, size_t len,
		      char why[TRANSPORT_WHY_MAX]);

/* Call @fn for each profile.  It returns 0, or what ends this. */
int nats_profiles_list(struct nats_profiles *profiles,
		       int (*fn)(const char *build_id, const char *machine, const char *label,
				 void *arg),
		       void *arg, char why[TRANSPORT_WHY_MAX]);

/* Fetch @len bytes of a profile; the caller frees them. */
int nats_profiles_get(struct nats_profiles *profiles, const char *build_id, const char *machine,
		      size_t len, uint8_t **ret, char why[TRANSPORT_WHY_MAX]);

#endif /* _USER_NET_NATS_PROFILES_H */
