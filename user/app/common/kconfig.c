// SPDX-License-Identifier: GPL-2.0

#include "app/common/kconfig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK (64 * 1024)

/* All of a stream; NULL if there is nothing or no memory. */
static char *read_all(FILE *file)
{
	size_t len = 0, got;
	char *text = NULL;

	for (;;) {
		char *grown = realloc(text, len + CHUNK + 1);

		if (!grown)
			break;
		text = grown;
		got = fread(text + len, 1, CHUNK, file);
		len += got;
		if (got)
			continue;
		if (!len)
			break;
		text[len] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text;

	if (!file)
		return NULL;
	text = read_all(file);
	fclose(file);
	return text;
}

/* Any machine with a kernel has gzip; a library for one file is not worth it. */
static char *read_proc(void)
{
	FILE *pipe;
	char *text;

	if (access("/proc/config.gz", R_OK))
		return NULL;
	pipe = popen("exec gzip -dc /proc/config.gz 2>/dev/null", "re");
	if (!pipe)
		return NULL;
	text = read_all(pipe);
	pclose(pipe);
	return text;
}

int kconfig_load(struct kconfig *config, const char *release)
{
	static const char *const formats[] = {
		"/boot/config-%s",
		"/lib/modules/%s/config",
		"/usr/lib/modules/%s/config",
		"/lib/modules/%s/build/.config",
	};
	char path[512];

	config->text = read_proc();
	for (size_t i = 0; !config->text && i < sizeof(formats) / sizeof(formats[0]); i++) {
		snprintf(path, sizeof(path), formats[i], release);
		config->text = read_file(path);
	}
	return config->text ? 0 : -ENOENT;
}

void kconfig_deinit(struct kconfig *config)
{
	free(config->text);
	config->text = NULL;
}

bool kconfig_is_set(const struct kconfig *config, const char *option)
{
	size_t len = strlen(option);
	const char *line = config->text;

	while (line) {
		if (!strncmp(line, option, len) && line[len] == '=')
			return line[len + 1] == 'y' || line[len + 1] == 'm';
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return false;
}
