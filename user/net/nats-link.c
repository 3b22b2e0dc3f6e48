// SPDX-License-Identifier: GPL-2.0

#include "net/nats-link.h"

#include <nats/nats.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct library nats_library = { .soname = LIBRARY_NATS };

enum {
	MAX_SERVERS = 16,
	CONNECT_MS = 5000,
	/* Machines whose server comes back do not all come at once. */
	RECONNECT_MS = 1000,
	JITTER_MS = 2000,
	/* A server that is silent is noticed within so many pings. */
	PING_MS = 20000,
	MAX_PINGS = 2,
};

/* The URLs, of which @text is cut up. */
static natsStatus set_servers(natsOptions *options, char *text)
{
	const char *servers[MAX_SERVERS];
	int nr = 0;

	for (char *url = strtok(text, ", "); url && nr < MAX_SERVERS; url = strtok(NULL, ", "))
		servers[nr++] = url;
	return NATS_CALL(natsOptions_SetServers)(options, servers, nr);
}

static natsStatus set_keys(natsOptions *options, const struct nats_settings *settings)
{
	natsStatus status = NATS_OK;

	if (settings->credentials)
		status = NATS_CALL(natsOptions_SetUserCredentialsFromFiles)(options, settings->credentials, NULL);
	if (status == NATS_OK && settings->ca)
		status = NATS_CALL(natsOptions_LoadCATrustedCertificates)(options, settings->ca);
	if (status == NATS_OK && settings->certificate)
		status = NATS_CALL(natsOptions_LoadCertificatesChain)(options, settings->certificate,
							   settings->key);
	if (status == NATS_OK && (settings->ca || settings->certificate))
		status = NATS_CALL(natsOptions_SetSecure)(options, true);
	return status;
}

static natsStatus set_patience(natsOptions *options)
{
	natsStatus status = NATS_CALL(natsOptions_SetTimeout)(options, CONNECT_MS);

	if (status == NATS_OK)
		status = NATS_CALL(natsOptions_SetMaxReconnect)(options, -1);
	if (status == NATS_OK)
		status = NATS_CALL(natsOptions_SetReconnectWait)(options, RECONNECT_MS);
	if (status == NATS_OK)
		status = NATS_CALL(natsOptions_SetReconnectJitter)(options, JITTER_MS, JITTER_MS);
	if (status == NATS_OK)
		status = NATS_CALL(natsOptions_SetPingInterval)(options, PING_MS);
	if (status == NATS_OK)
		status = NATS_CALL(natsOptions_SetMaxPingsOut)(options, MAX_PINGS);
	return status;
}

const char *nats_link_name(const struct nats_settings *settings)
{
	const char *host = strrchr(settings->servers, '@');

	return host ? host + 1 : settings->servers;
}

const char *nats_link_open(const struct nats_settings *settings, natsConnection **ret, char *why,
			   size_t size)
{
	natsOptions *options = NULL;
	natsStatus status = NATS_CALL(natsOptions_Create)(&options);
	char servers[4096];

	*ret = NULL;
	snprintf(servers, sizeof(servers), "%s", settings->servers);
	if (status == NATS_OK)
		status = set_servers(options, servers);
	if (status == NATS_OK)
		status = NATS_CALL(natsOptions_SetName)(options, "perfguard");
	if (status == NATS_OK)
		status = set_keys(options, settings);
	if (status == NATS_OK)
		status = set_patience(options);
	if (status == NATS_OK)
		status = NATS_CALL(natsConnection_Connect)(ret, options);
	NATS_CALL(natsOptions_Destroy)(options);
	if (status == NATS_OK)
		return NULL;
	snprintf(why, size, "cannot connect to %s: %s", nats_link_name(settings),
		 NATS_CALL(natsStatus_GetText)(status));
	return why;
}
