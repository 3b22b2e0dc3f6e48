// SPDX-License-Identifier: GPL-2.0

#include "binary/helper/foreign-code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/duration.h"
#include "binary/helper/code-server.h"
#include "binary/helper/code-wire.h"
#include "binary/helper/wanted.h"
#include "data/fingerprint.h"

enum {
	MAX_FUNCTIONS = 1 << 22,
	BASE_S = 20, /* a busy machine, or a slow one */
	MAX_EXTRA_S = 240,
	CALLS_S = 60, /* of CPU time, for all calls */
};

/* All code is read, so large files take their time: some 10 ms for each MiB. */
static unsigned int limit_s(int fd)
{
	struct stat st;
	uint64_t mib;

	if (fstat(fd, &st))
		return BASE_S;
	mib = (uint64_t)st.st_size >> 20;
	return BASE_S + (mib < MAX_EXTRA_S ? (unsigned int)mib : MAX_EXTRA_S);
}

static bool copy_text(char *ret, const char *from, size_t size)
{
	memcpy(ret, from, size);
	return memchr(ret, '\0', size);
}

static int receive_file(struct foreign_code *code, const char *path)
{
	struct runtime_candidate *runtime = &code->runtime;
	struct code_wire_file file;
	int error = wanted_receive(&code->helper, path, CODE_WIRE_FILE, &file, sizeof(file));

	if (error)
		return error;
	if (file.error)
		return file.error == -ENODATA || file.error == -ENOMEM ? file.error : -ENOEXEC;
	if (file.nr_functions > MAX_FUNCTIONS || file.prints_size > FINGERPRINT_MAX_BYTES ||
	    !copy_text(code->build_id, file.build_id, sizeof(code->build_id)) ||
	    strspn(code->build_id, "0123456789abcdef") < strlen(code->build_id) ||
	    !copy_text(runtime->soname, file.soname, sizeof(runtime->soname)) ||
	    !copy_text(runtime->file, file.file, sizeof(runtime->file)) ||
	    !copy_text(runtime->interpreter, file.interpreter, sizeof(runtime->interpreter)))
		return -EIO;
	runtime->has_private = file.has_private;
	code->nr_functions = file.nr_functions;
	code->prints_size = file.prints_size;
	code->uses_gs = file.uses_gs;
	return array_new(code->functions, code->nr_functions);
}

/* An offset is in the function. */
static bool check_window(const struct code_wire_function *message, struct window_site *ret)
{
	if (message->window >= WINDOW_SITE_NR ||
	    (message->window == WINDOW_SITE_FOUND &&
	     message->window_offset - message->offset >= message->size))
		return false;
	*ret = (struct window_site){
		.verdict = message->window,
		.offset = message->window_offset,
		.sp_delta = message->window_sp_delta,
	};
	return true;
}

static int receive_function(struct foreign_code *code, const char *path,
			    struct foreign_function *ret)
{
	const int head = offsetof(struct code_wire_function, name);
	struct code_wire_function message;
	int size = wanted_receive_some(&code->helper, path, CODE_WIRE_FUNCTION, &message,
				       sizeof(message));

	if (size < 0)
		return size;
	if (size <= head || !memchr(message.name, '\0', (size_t)(size - head)) ||
	    (message.cost != SAMPLES_COST_CHEAP && message.cost != SAMPLES_COST_STEPPED) ||
	    !message.size || message.site - message.offset >= message.size ||
	    message.offset + message.size < message.offset ||
	    !check_window(&message, &ret->window))
		return -EIO;
	ret->is_leaf = message.is_leaf;
	ret->described = (struct samples_function){
		.offset = message.offset,
		.size = message.size,
		.site = message.site,
		.sp_delta = message.sp_delta,
		.cost = message.cost,
		.name = message.name[0] ? strdup(message.name) : NULL,
	};
	return message.name[0] && !ret->described.name ? -ENOMEM : 0;
}

/* Nobody else looks at them before a profile is carried, so they are checked here. */
static int check_prints(struct foreign_code *code)
{
	struct fingerprints prints;
	int error = fingerprints_unpack(code->prints, code->prints_size, &prints);

	if (error)
		return error == -ENOMEM ? error : -EIO;
	for (uint32_t i = 0; i < prints.nr_refs; i++)
		code->has_syscalls |= prints.refs[i].kind == FINGERPRINT_SYSCALL;
	fingerprints_deinit(&prints);
	return 0;
}

static int receive_prints(struct foreign_code *code, const char *path)
{
	const int head = offsetof(struct code_wire_prints, bytes);
	static struct code_wire_prints message;
	uint32_t at = 0;

	if (!code->prints_size)
		return 0;
	if (array_new(code->prints, code->prints_size))
		return -ENOMEM;
	while (at < code->prints_size) {
		int size = wanted_receive_some(&code->helper, path, CODE_WIRE_PRINTS, &message,
					       sizeof(message));

		if (size < 0)
			return size;
		if (size <= head || (uint32_t)(size - head) > code->prints_size - at)
			return -EIO;
		memcpy(code->prints + at, message.bytes, (size_t)(size - head));
		at += (uint32_t)(size - head);
	}
	return check_prints(code);
}

static int receive_all(struct foreign_code *code, const char *path)
{
	int error = receive_file(code, path);

	for (uint32_t i = 0; i < code->nr_functions && !error; i++)
		error = receive_function(code, path, &code->functions[i]);
	return error ?: receive_prints(code, path);
}

static int open_code(int fd, const char *path, bool has_windows, struct foreign_code **ret)
{
	struct code_order order = { path, has_windows };
	struct foreign_code *code = calloc(1, sizeof(*code));
	int error;

	if (!code)
		return -ENOMEM;
	error = helper_start(&code->helper, fd, limit_s(fd) + CALLS_S, code_server_main,
			     &order);
	code->helper.max_cpu_ns = limit_s(fd) * NSEC_PER_SEC;
	if (!error)
		error = receive_all(code, path);
	code->helper.max_cpu_ns = HELPER_CPU_NS;
	if (error) {
		foreign_code_close(code);
		return error;
	}
	*ret = code;
	return 0;
}

int foreign_code_open(int fd, const char *path, struct foreign_code **ret)
{
	return open_code(fd, path, false, ret);
}

int foreign_code_open_with_windows(int fd, const char *path, struct foreign_code **ret)
{
	return open_code(fd, path, true, ret);
}

void foreign_code_close(struct foreign_code *code)
{
	helper_stop(&code->helper);
	for (uint32_t i = 0; code->functions && i < code->nr_functions; i++)
		free(code->functions[i].described.name);
	free(code->functions);
	free(code->prints);
	free(code);
}

int foreign_code_call(struct foreign_code *code, uint64_t return_offset, bool is_near,
		      struct foreign_call *ret)
{
	const struct code_wire_question question = {
		.return_offset = return_offset, .is_near = is_near,
	};
	struct code_wire_call answer;
	int error;

	*ret = (struct foreign_call){ .caller = FOREIGN_CODE_NONE, .callee = FOREIGN_CODE_NONE };
	error = helper_send(&code->helper, &question, sizeof(question));
	if (!error) {
		ssize_t size = helper_receive(&code->helper, &answer, sizeof(answer));

		if (size < 0)
			error = (int)size;
		else if (size != sizeof(answer) || answer.kind != CODE_WIRE_CALL)
			error = -EIO;
	}
	if (error)
		return error == -EINTR ? error : 0;
	if (answer.caller < code->nr_functions)
		ret->caller = answer.caller;
	if (answer.callee < code->nr_functions)
		ret->callee = answer.callee;
	ret->is_indirect = answer.is_indirect;
	ret->is_in_loop = answer.is_in_loop;
	return 0;
}
