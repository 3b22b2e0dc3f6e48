// SPDX-License-Identifier: GPL-2.0

#include "net/nats-profiles.h"

#include <errno.h>
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/nats-link.h"

enum {
	PART_BYTES = 512 << 10,
	KEY_MAX = 256,
	WAIT_MS = 5000,
};

static const char bucket[] = "perfguard-profiles";

struct nats_profiles {
	natsConnection *connection;
	jsCtx *js;
	kvStore *store;
};

static int failed(natsStatus status, const char *what, char why[TRANSPORT_WHY_MAX])
{
	snprintf(why, TRANSPORT_WHY_MAX, "cannot %s: %s", what, NATS_CALL(natsStatus_GetText)(status));
	return status == NATS_NO_MEMORY ? -ENOMEM : status == NATS_NOT_FOUND ? -ENOENT : -EIO;
}

static natsStatus open_bucket(struct nats_profiles *profiles)
{
	natsStatus status = NATS_CALL(natsConnection_JetStream)(&profiles->js, profiles->connection, NULL);
	kvConfig config;

	if (status == NATS_OK)
		status = NATS_CALL(js_KeyValue)(&profiles->store, profiles->js, bucket);
	if (status != NATS_NOT_FOUND)
		return status;
	NATS_CALL(kvConfig_Init)(&config);
	config.Bucket = bucket;
	config.History = 1;
	config.StorageType = js_FileStorage;
	return NATS_CALL(js_CreateKeyValue)(&profiles->store, profiles->js, &config);
}

int nats_profiles_open(const struct nats_settings *settings, struct nats_profiles **ret,
		       char why[TRANSPORT_WHY_MAX])
{
	struct nats_profiles *profiles;
	natsStatus status;
	int error = 0;

	*ret = NULL;
	snprintf(why, TRANSPORT_WHY_MAX, "the library of NATS cannot be loaded");
	if (library_load(&nats_library))
		return -ELIBACC;
	profiles = calloc(1, sizeof(*profiles));
	snprintf(why, TRANSPORT_WHY_MAX, "out of memory");
	if (!profiles)
		return -ENOMEM;
	if (nats_link_open(settings, &profiles->connection, why, TRANSPORT_WHY_MAX)) {
		error = -EIO;
	} else {
		status = open_bucket(profiles);
		if (status != NATS_OK)
			error = failed(status, "open the bucket perfguard-profiles", why);
	}
	if (error)
		nats_profiles_close(profiles);
	else
		*ret = profiles;
	return error;
}

void nats_profiles_close(struct nats_profiles *profiles)
{
	NATS_CALL(kvStore_Destroy)(profiles->store);
	NATS_CALL(jsCtx_Destroy)(profiles->js);
	NATS_CALL(natsConnection_Destroy)(profiles->connection);
	free(profiles);
	NATS_CALL(nats_Close)();
}

static bool has_label(struct nats_profiles *profiles, const char *key, const char *label)
{
	kvEntry *entry = NULL;
	bool ret = NATS_CALL(kvStore_Get)(&entry, profiles->store, key) == NATS_OK &&
		   (size_t)NATS_CALL(kvEntry_ValueLen)(entry) == strlen(label) &&
		   !memcmp(NATS_CALL(kvEntry_Value)(entry), label, strlen(label));

	NATS_CALL(kvEntry_Destroy)(entry);
	return ret;
}

int nats_profiles_put(struct nats_profiles *profiles, const char *build_id, const char *machine,
		      const char *label, const uint8_t *bytes, size_t len,
		      char why[TRANSPORT_WHY_MAX])
{
	natsStatus status = NATS_OK;
	char key[KEY_MAX], part[KEY_MAX];

	snprintf(key, sizeof(key), "profile.%s.%s", build_id, machine);
	if (has_label(profiles, key, label))
		return 0;
	for (size_t at = 0, nr = 0; at < len && status == NATS_OK; at += PART_BYTES, nr++) {
		size_t size = len - at < PART_BYTES ? len - at : PART_BYTES;

		snprintf(part, sizeof(part), "part.%s.%s.%zu", build_id, machine, nr);
		status = NATS_CALL(kvStore_Put)(NULL, profiles->store, part, bytes + at, (int)size);
	}
	if (status == NATS_OK)
		status = NATS_CALL(kvStore_PutString)(NULL, profiles->store, key, label);
	return status == NATS_OK ? 0 : failed(status, "publish a profile", why);
}

/* Cut "profile.BUILD-ID.MACHINE" up. */
static bool split(char *key, const char **build_id, const char **machine)
{
	strtok(key, ".");
	*build_id = strtok(NULL, ".");
	*machine = strtok(NULL, ".");
	return *machine && !strtok(NULL, ".");
}

static int take(kvEntry *entry,
		int (*fn)(const char *build_id, const char *machine, const char *label, void *arg),
		void *arg)
{
	char key[KEY_MAX], label[NATS_LABEL_MAX];
	const char *build_id, *machine;
	int len = NATS_CALL(kvEntry_ValueLen)(entry);

	snprintf(key, sizeof(key), "%s", NATS_CALL(kvEntry_Key)(entry));
	if (!split(key, &build_id, &machine) || len < 0 || len >= (int)sizeof(label))
		return 0;
	snprintf(label, sizeof(label), "%.*s", len, (const char *)NATS_CALL(kvEntry_Value)(entry));
	return fn(build_id, machine, label, arg);
}

int nats_profiles_list(struct nats_profiles *profiles,
		       int (*fn)(const char *build_id, const char *machine, const char *label,
				 void *arg),
		       void *arg, char why[TRANSPORT_WHY_MAX])
{
	kvWatchOptions options;
	kvWatcher *watcher = NULL;
	kvEntry *entry = NULL;
	natsStatus status;
	int ret = 0;

	NATS_CALL(kvWatchOptions_Init)(&options);
	options.IgnoreDeletes = true;
	status = NATS_CALL(kvStore_Watch)(&watcher, profiles->store, "profile.>", &options);
	/* What is there ends with none. */
	while (status == NATS_OK && !ret) {
		status = NATS_CALL(kvWatcher_Next)(&entry, watcher, WAIT_MS);
		if (status != NATS_OK || !entry)
			break;
		ret = take(entry, fn, arg);
		NATS_CALL(kvEntry_Destroy)(entry);
	}
	NATS_CALL(kvWatcher_Destroy)(watcher);
	return status == NATS_OK ? ret : failed(status, "list profiles", why);
}

int nats_profiles_get(struct nats_profiles *profiles, const char *build_id, const char *machine,
		      size_t len, uint8_t **ret, char why[TRANSPORT_WHY_MAX])
{
	uint8_t *bytes = malloc(len);
	natsStatus status = bytes ? NATS_OK : NATS_NO_MEMORY;
	size_t at = 0, nr = 0;

	while (status == NATS_OK && at < len) {
		kvEntry *entry = NULL;
		char key[KEY_MAX];

		snprintf(key, sizeof(key), "part.%s.%s.%zu", build_id, machine, nr++);
		status = NATS_CALL(kvStore_Get)(&entry, profiles->store, key);
		if (status == NATS_OK && (NATS_CALL(kvEntry_ValueLen)(entry) <= 0 ||
					  (size_t)NATS_CALL(kvEntry_ValueLen)(entry) > len - at))
			status = NATS_ILLEGAL_STATE;
		if (status == NATS_OK) {
			memcpy(bytes + at, NATS_CALL(kvEntry_Value)(entry), (size_t)NATS_CALL(kvEntry_ValueLen)(entry));
			at += (size_t)NATS_CALL(kvEntry_ValueLen)(entry);
		}
		NATS_CALL(kvEntry_Destroy)(entry);
	}
	*ret = bytes;
	if (status == NATS_OK)
		return 0;
	free(bytes);
	*ret = NULL;
	return failed(status, "fetch a profile", why);
}
