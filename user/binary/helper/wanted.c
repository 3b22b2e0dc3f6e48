// SPDX-License-Identifier: GPL-2.0

#include "binary/helper/wanted.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "binary/helper/wire.h"

enum {
	MAX_WANTED = 16, /* by one helper */
};

static int fail(struct helper *helper)
{
	helper_stop(helper);
	return -EIO;
}

static int serve(struct helper *helper, const char *path, struct wire_wanted *message)
{
	struct debug_file_wanted *wanted = &message->wanted;
	int fd, error;

	wanted->link[sizeof(wanted->link) - 1] = '\0';
	if (helper->nr_wanted++ == MAX_WANTED || !wanted->id_size ||
	    wanted->id_size > sizeof(wanted->id))
		return fail(helper);
	fd = debug_file_open(path, wanted, message->nr);
	if (fd < 0)
		return helper_send(helper, &fd, sizeof(fd));
	error = 0;
	error = helper_send_file(helper, &error, sizeof(error), fd);
	close(fd);
	return error;
}

int wanted_receive_some(struct helper *helper, const char *path, uint32_t kind, void *ret,
			size_t size)
{
	for (;;) {
		ssize_t received = helper_receive(helper, ret, size);
		uint32_t its;
		int error;

		if (received < 0)
			return (int)received;
		if (received < (ssize_t)sizeof(its))
			return fail(helper);
		memcpy(&its, ret, sizeof(its));
		if (its == kind)
			return (int)received;
		if (its != WIRE_WANTED || received != sizeof(struct wire_wanted))
			return fail(helper);
		error = serve(helper, path, ret);
		if (error)
			return error;
	}
}

int wanted_receive(struct helper *helper, const char *path, uint32_t kind, void *ret, size_t size)
{
	int received = wanted_receive_some(helper, path, kind, ret, size);

	if (received < 0)
		return received;
	return (size_t)received == size ? 0 : fail(helper);
}
