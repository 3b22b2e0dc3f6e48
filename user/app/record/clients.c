// SPDX-License-Identifier: GPL-2.0

#include "app/record/clients.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/record/recording-tables.h"
#include "base/log.h"

int clients_follow(struct recording *recording)
{
	struct session *session = &recording->session;
	int error = recording_set_flags(recording, session->target_flags |
							   PERFGUARD_TARGET_FLAGS_DISCOVER |
							   PERFGUARD_TARGET_FLAGS_REQUESTS);

	return error ? recording_failed(recording, error, "cannot follow requests") : 0;
}

static bool is_listening(int pidfd, int fd)
{
	int copy = pidfd_getfd(pidfd, fd, 0), listens = 0;
	socklen_t len = sizeof(listens);

	if (copy < 0)
		return false;
	if (getsockopt(copy, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len))
		listens = 0;
	close(copy);
	return listens;
}

/* Return: true if a file of the process is a socket that takes connections. */
static bool listens(uint32_t pid)
{
	int pidfd = pidfd_open((pid_t)pid, 0);
	const struct dirent *entry;
	bool found = false;
	char path[32];
	DIR *files;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd", pid);
	files = opendir(path);
	while (pidfd >= 0 && files && !found && (entry = readdir(files)))
		if (entry->d_name[0] != '.')
			found = is_listening(pidfd, atoi(entry->d_name));
	if (files)
		closedir(files);
	if (pidfd >= 0)
		close(pidfd);
	return found;
}

static bool any_listens(const struct session *session)
{
	for (uint32_t i = 0; i < session->nr_known; i++)
		if (listens(session->processes[i].pid))
			return true;
	return false;
}

int clients_judge(struct recording *recording)
{
	struct session *session = &recording->session;
	struct requests requests = { 0 };
	int error = link_requests(session->link, session->target_id, &requests);

	if (!error && !requests.requests && !requests.unanswered && any_listens(session))
		log_warning("no client sent it a message while functions were looked for, though it listens for clients: this is what it does without a load (%" PRIu32 " of %" PRIu32 " functions run)",
			    recording->nr_covered, recording->nr_armed);
	if (!error || error == -ENOENT)
		error = recording_set_flags(recording, session->target_flags |
							       PERFGUARD_TARGET_FLAGS_DISCOVER);
	return error ? recording_failed(recording, error, "cannot follow requests") : 0;
}
