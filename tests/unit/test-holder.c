// SPDX-License-Identifier: GPL-2.0
/* Who holds a target is found while it does, and asking never keeps anybody from holding it. */

#include "app/common/holder.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

/* No module counts its targets so far. */
#define TARGET UINT32_MAX

enum { READERS = 2, ROUNDS = 20000 };

static void found(void)
{
	struct holder holder;
	int fd = holder_begin(TARGET, "train");

	holder_note(fd, "train", "structure");
	ok(holder_find(TARGET, &holder) && !strcmp(holder.verb, "train") &&
	   !strcmp(holder.stage, "structure") && holder.pid == (uint32_t)getpid(),
	   "a holder is found, with its stage");
	holder_note(fd, "train", "timing");
	ok(holder_find(TARGET, &holder) && !strcmp(holder.stage, "timing"), "so is its next stage");
	ok(!holder_begin(TARGET, "audit"), "a target has one holder");
	close(fd);
	ok(!holder_find(TARGET, &holder), "what a holder left when it died is nobody's");
	holder_end(holder_begin(TARGET, "train"), TARGET);
	ok(!holder_find(TARGET, &holder) && !holder.pid, "nor is it after its end");
}

static void asked(void)
{
	unsigned int refused = 0;
	pid_t readers[READERS];

	for (int i = 0; i < READERS; i++) {
		readers[i] = fork();
		while (!readers[i])
			holder_find(TARGET, &(struct holder){ 0 });
	}
	for (int i = 0; i < ROUNDS; i++) {
		int fd = holder_begin(TARGET, "train");

		refused += !fd;
		holder_end(fd, TARGET);
	}
	for (int i = 0; i < READERS; i++) {
		kill(readers[i], SIGKILL);
		waitpid(readers[i], NULL, 0);
	}
	if (!ok(!refused, "whoever asks meanwhile keeps nobody from holding it"))
		diag("%u of %d were refused", refused, ROUNDS);
}

int main(void)
{
	int fd = holder_begin(TARGET, "train");

	plan(6);
	if (!fd) {
		skip(6, "no right to write in " HOLDER_DIRECTORY);
		return tap_status();
	}
	holder_end(fd, TARGET);
	found();
	asked();
	return tap_status();
}
