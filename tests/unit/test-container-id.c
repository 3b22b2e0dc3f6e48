// SPDX-License-Identifier: GPL-2.0
/* Containers by the paths of their cgroups, as the engines lay them out. */

#include <stdio.h>
#include <string.h>

#include "base/container-id.h"
#include "tap.h"

#define ID "3f2a9c1b7d020123456789abcdef0123456789abcdef0123456789abcdef0123"
#define OTHER "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
	const char *path;
	const char *id;
	bool is_own;
} paths[] = {
	/* docker, by systemd and by the file system */
	{ "/system.slice/docker-" ID ".scope", ID, true },
	{ "/docker/" ID, ID, true },
	{ "/docker/" ID "/init", ID, false },
	/* podman, of root and of a user */
	{ "/machine.slice/libpod-" ID ".scope", ID, true },
	{ "/machine.slice/libpod-" ID ".scope/container", ID, false },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", ID, true },
	{ "/machine.slice/libpod-conmon-" ID ".scope", "", false },
	/* containerd and CRI-O in Kubernetes */
	{ "/kubepods.slice/kubepods-pod0a1b2c3d_4e5f.slice/cri-containerd-" ID ".scope", ID, true },
	{ "/kubepods/burstable/pod0a1b2c3d-4e5f/" ID, ID, true },
	{ "/kubepods.slice/kubepods-besteffort.slice/crio-" ID ".scope", ID, true },
	{ "/kubepods.slice/kubepods-besteffort.slice/crio-conmon-" ID ".scope", "", false },
	{ "/system.slice/nerdctl-" ID ".scope", ID, true },
	{ "/default/" ID, ID, true },
	/* LXC */
	{ "/lxc.payload.web", "web", true },
	{ "/lxc.payload.web/system.slice/nginx.service", "web", false },
	{ "/lxc/web", "web", true },
	{ "/lxc.monitor.web", "", false },
	/* systemd-nspawn and machined */
	{ "/machine.slice/systemd-nspawn@web.service", "web", true },
	{ "/machine.slice/systemd-nspawn@web.service/payload/system.slice", "web", false },
	{ "/machine.slice/machine-my\\x2dweb.scope", "my-web", true },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", "", false },
	/* a container in a container is the inner one */
	{ "/docker/" OTHER "/docker/" ID, ID, true },
	/* none */
	{ "/", "", false },
	{ "", "", false },
	{ "/system.slice/nginx.service", "", false },
	{ "/user.slice/user-0.slice/session-3.scope", "", false },
	{ "/system.slice/docker-3f2a9c1b7d02.scope", "", false },
	{ "/x" ID, "", false },
	{ "/docker/3F2A9C1B7D020123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123", "", false },
};

enum { NR_PATHS = sizeof(paths) / sizeof(paths[0]) };

int main(void)
{
	char id[CONTAINER_ID_MAX], name[2 * CONTAINER_ID_MAX];

	plan(NR_PATHS + 3);
	for (int i = 0; i < NR_PATHS; i++)
		ok(!strcmp(container_id(paths[i].path, id), paths[i].id) &&
		   container_is_own(paths[i].path) == paths[i].is_own, "'%s': '%s'",
		   paths[i].path, id);
	strcpy(id, ID);
	ok(!strcmp(container_id_cut(id), "3f2a9c1b7d02"), "an id is cut");
	strcpy(id, "a-machine-with-a-long-name");
	ok(!strcmp(container_id_cut(id), "a-machine-with-a-long-name"), "a name is not");
	snprintf(name, sizeof(name), "/lxc/%0200d", 7);
	ok(strlen(container_id(name, id)) == CONTAINER_ID_MAX - 1, "a name that is too long");
	return tap_status();
}
