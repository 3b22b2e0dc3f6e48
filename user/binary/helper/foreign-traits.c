// SPDX-License-Identifier: GPL-2.0

#include "binary/helper/foreign-traits.h"

#include <errno.h>

#include "binary/file/object.h"
#include "binary/helper/answering.h"
#include "binary/helper/code-wire.h"
#include "binary/helper/confine.h"
#include "binary/helper/helper.h"
#include "binary/helper/wanted.h"

enum {
	MAX_S = 20,
	MAX_FUNCTIONS = 1 << 22,
};

union traits_message {
	struct code_wire_traits traits;
	struct wire_wanted wanted; /* it has room for */
};

struct traits_request {
	const char *path;
	bool counts;
};

static void traits_server_main(void *arg)
{
	const struct traits_request *request = arg;
	union traits_message message = { .traits.kind = CODE_WIRE_TRAITS };
	struct code_wire_traits *traits = &message.traits;
	struct object *object = NULL;

	serve_begin();
	traits->error = object_create(CONFINE_FILE, request->path, &object);
	if (!traits->error)
		traits->error = file_traits_read(object, request->counts, &traits->traits);
	serve_answer(&message, sizeof(message));
}

static int check(const struct code_wire_traits *traits)
{
	if (traits->error)
		return traits->error == -ENOMEM ? -ENOMEM : -ENOEXEC;
	if (traits->traits.nr_functions > MAX_FUNCTIONS ||
	    traits->traits.nr_named > traits->traits.nr_functions)
		return -EIO;
	return 0;
}

int foreign_traits_read(int fd, const char *path, bool counts, struct file_traits *ret)
{
	union traits_message message;
	struct traits_request request = { path, counts };
	struct helper helper = { .pid = 0 };
	int error = helper_start(&helper, fd, MAX_S, traits_server_main, &request);

	helper.max_cpu_ns = MAX_S * NSEC_PER_SEC;
	if (!error)
		error = wanted_receive(&helper, path, CODE_WIRE_TRAITS, &message, sizeof(message));
	helper_stop(&helper);
	if (!error)
		error = check(&message.traits);
	if (!error)
		*ret = message.traits.traits;
	return error;
}
