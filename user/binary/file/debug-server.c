// SPDX-License-Identifier: GPL-2.0
/*
 * The client is loaded only if it is wanted: it brings libraries of network protocols.
 */

#include "binary/file/debug-server.h"

#include <dlfcn.h>
#include <errno.h>
#include <elfutils/debuginfod.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/duration.h"
#include "base/pending.h"
#include "base/time.h"

#define MAX_NS (10 * NSEC_PER_SEC)

struct client {
	typeof(debuginfod_begin) *begin;
	typeof(debuginfod_find_debuginfo) *find;
	typeof(debuginfod_set_progressfn) *set_progress;
	typeof(debuginfod_end) *end;
};

static uint64_t start_ns;

static bool load(struct client *ret)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		return false;
	*(void **)&ret->begin = dlsym(library, "debuginfod_begin");
	*(void **)&ret->find = dlsym(library, "debuginfod_find_debuginfo");
	*(void **)&ret->set_progress = dlsym(library, "debuginfod_set_progressfn");
	*(void **)&ret->end = dlsym(library, "debuginfod_end");
	return ret->begin && ret->find && ret->set_progress && ret->end;
}

/* Returns non-zero to give up. */
static int on_progress(debuginfod_client *client, long done, long all)
{
	(void)client, (void)done, (void)all;
	return time_now_ns() - start_ns > MAX_NS || pending_end();
}

int debug_server_open(const uint8_t *id, uint32_t size)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	debuginfod_client *session;
	struct client client;
	int fd;

	if (!servers || !*servers || !load(&client))
		return -ENOENT;
	session = client.begin();
	if (!session)
		return -ENOENT;
	start_ns = time_now_ns();
	client.set_progress(session, on_progress);
	fd = client.find(session, id, (int)size, NULL);
	client.end(session);
	return fd < 0 ? -ENOENT : fd;
}
