// SPDX-License-Identifier: GPL-2.0
/*
 * The module's record mode by hand: a command a line on standard input, a line
 * of answer each, "ok ..." or "error ERRNO TEXT".
 *
 *   watch exe PATH FLAGS           ok TARGET PROCESSES
 *   watch pid PID FLAGS            the same
 *   flags TARGET FLAGS
 *   sites TARGET PATH FLAGS FILE   FILE holds struct perfguard_site, binary;
 *                                  ok SECONDS REFUSED [ID:ERRNO...]
 *   off TARGET                     all its sites; ok SECONDS
 *   forget TARGET                  the target; ok SECONDS
 *   loop IMAGE ID SYSCALL RETURN DISTANCE
 *                                  the image's one event loop; numbers as in C
 *   open                           the stream
 *   close
 *   read MS FILE                   append what comes in this time; ok EVENTS
 *   refusal TARGET                 ok REASON PID, of who is not to be recorded by jumps
 *   status                         ok SITES STREAM-LOST [TARGET:SITES...]
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "link/link.h"
#include "link/stream-reader.h"

enum { MAX_EVENTS = 65536, MAX_REPORTED = 20 };

static struct link *module;
static struct stream *stream;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void refuse(int error, const char *text)
{
	printf("error %d %s\n", -error, text);
}

static void verdict(int error)
{
	if (error)
		refuse(error, link_error(module));
	else
		puts("ok");
}

static void watch(const char *kind, const char *what, uint32_t flags)
{
	uint32_t id, processes;
	uint32_t pid = 0;
	int fd = -1;
	int ret;

	if (!strcmp(kind, "exe"))
		fd = open(what, O_RDONLY | O_CLOEXEC);
	else
		pid = (uint32_t)atoi(what);
	ret = link_target_new(module, fd, pid, NULL, flags, 0, &id, &processes);
	if (fd >= 0)
		close(fd);
	if (ret)
		refuse(ret, link_error(module));
	else
		printf("ok %u %u\n", id, processes);
}

static struct perfguard_site *load_sites(const char *path, uint32_t *ret_nr)
{
	struct perfguard_site *sites;
	struct stat st;
	FILE *file = fopen(path, "r");

	if (!file || fstat(fileno(file), &st))
		return NULL;
	sites = malloc((size_t)st.st_size + 1);
	*ret_nr = (uint32_t)fread(sites, sizeof(*sites),
				  (size_t)st.st_size / sizeof(*sites), file);
	fclose(file);
	return sites;
}

static void add_sites(uint32_t target, const char *path, uint32_t flags,
		      const char *list)
{
	struct perfguard_site_refusal *refused;
	uint32_t nr = 0, nr_refused;
	struct perfguard_site *sites = load_sites(list, &nr);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	double start = now();
	int ret;

	ret = link_sites_add(module, target, fd, flags, sites, nr, &refused,
			     &nr_refused);
	if (ret)
		refuse(ret, link_error(module));
	else
		printf("ok %.3f %u", now() - start, nr_refused);
	for (uint32_t i = 0; !ret && i < nr_refused && i < MAX_REPORTED; i++)
		printf(" %u:%u", refused[i].id, refused[i].error);
	if (!ret)
		puts("");
	free(refused);
	free(sites);
	if (fd >= 0)
		close(fd);
}

static void timed(int (*order)(struct link *link, uint32_t id), uint32_t id)
{
	double start = now();
	int ret = order(module, id);

	if (ret)
		refuse(ret, link_error(module));
	else
		printf("ok %.3f\n", now() - start);
}

static void open_stream(void)
{
	int ret;

	stream_close(stream);
	ret = stream_open(&stream);
	if (!ret) {
		puts("ok");
		return;
	}
	refuse(ret, stream_error(stream));
	stream_close(stream);
	stream = NULL;
}

static void read_stream(int ms, const char *path)
{
	static struct perfguard_event events[MAX_EVENTS];
	struct pollfd fd = { .events = POLLIN };
	double end = now() + ms / 1e3;
	FILE *file = fopen(path, "a");
	long total = 0;
	int ret = 0;

	if (!stream || !file) {
		refuse(-EBADF, "no stream or no file");
		return;
	}
	fd.fd = stream_fd(stream);
	do {
		int left = (int)((end - now()) * 1e3);

		poll(&fd, 1, left > 0 ? left : 0);
		while ((ret = stream_read(stream, events, MAX_EVENTS)) > 0) {
			fwrite(events, sizeof(*events), (size_t)ret, file);
			total += ret;
			if (now() >= end)
				break;
		}
	} while (ret >= 0 && now() < end);
	fclose(file);
	if (ret < 0)
		refuse(ret, stream_error(stream));
	else
		printf("ok %ld\n", total);
}

static void status(void)
{
	struct target *targets;
	struct stats stats;
	uint32_t nr;

	if (link_stats(module, &stats) || link_targets(module, &targets, &nr)) {
		refuse(-EIO, link_error(module));
		return;
	}
	printf("ok %u %" PRIu64, stats.sites, stats.stream_lost);
	for (uint32_t i = 0; i < nr; i++)
		printf(" %u:%u", targets[i].id, targets[i].sites);
	puts("");
	link_stats_clear(&stats);
	link_targets_free(targets, nr);
}

static void refusal(uint32_t target_id)
{
	struct target *targets;
	uint32_t nr;
	int error = link_targets(module, &targets, &nr);

	if (error) {
		verdict(error);
		return;
	}
	for (uint32_t i = 0; i < nr; i++)
		if (targets[i].id == target_id)
			printf("ok %" PRIu32 " %" PRIu32 "\n", targets[i].inline_refusal,
			       targets[i].inline_refused_pid);
	link_targets_free(targets, nr);
}

static int set_loop(char **word)
{
	struct context context = {
		.loop_id = (uint32_t)strtoul(word[1], NULL, 0),
		.syscall = (uint32_t)strtoul(word[2], NULL, 0),
		.return_address = strtoull(word[3], NULL, 0),
		.distance = (uint32_t)strtoul(word[4], NULL, 0),
	};

	return link_loop_set(module, (uint32_t)strtoul(word[0], NULL, 0),
			     &context, 1);
}

static void command(char *line)
{
	char *word[6] = { "", "", "", "", "", "" };
	char *rest = line, *next;
	int nr = 0;

	while (nr < 6 && (next = strtok_r(rest, " \n", &rest)))
		word[nr++] = next;
	if (!strcmp(word[0], "watch"))
		watch(word[1], word[2], (uint32_t)atoi(word[3]));
	else if (!strcmp(word[0], "flags"))
		verdict(link_target_set_flags(module, (uint32_t)atoi(word[1]),
					      (uint32_t)atoi(word[2])));
	else if (!strcmp(word[0], "sites"))
		add_sites((uint32_t)atoi(word[1]), word[2],
			  (uint32_t)atoi(word[3]), word[4]);
	else if (!strcmp(word[0], "off"))
		timed(link_sites_del, (uint32_t)atoi(word[1]));
	else if (!strcmp(word[0], "forget"))
		timed(link_target_del, (uint32_t)atoi(word[1]));
	else if (!strcmp(word[0], "loop"))
		verdict(set_loop(word + 1));
	else if (!strcmp(word[0], "open"))
		open_stream();
	else if (!strcmp(word[0], "close")) {
		stream_close(stream);
		stream = NULL;
		puts("ok");
	} else if (!strcmp(word[0], "read"))
		read_stream(atoi(word[1]), word[2]);
	else if (!strcmp(word[0], "refusal"))
		refusal((uint32_t)atoi(word[1]));
	else if (!strcmp(word[0], "status"))
		status();
	else
		refuse(-EINVAL, "no such command");
	fflush(stdout);
}

int main(void)
{
	char line[4096];

	if (link_open(&module)) {
		refuse(-EIO, link_error(module));
		return 1;
	}
	while (fgets(line, sizeof(line), stdin))
		command(line);
	stream_close(stream);
	link_close(module);
	return 0;
}
