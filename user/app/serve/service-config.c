// SPDX-License-Identifier: GPL-2.0

#include "app/serve/service-config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/arm/arm-files.h"
#include "app/common/command.h"
#include "app/common/scope-options.h"
#include "base/duration.h"
#include "base/log.h"

struct config_reader {
	const char *path;
	uint32_t line;
	struct service_config *config;
	struct service_settings *settings; /* that lines are of now */
	uint64_t given; /* keys there, bit by bit */
	bool is_bad;
};

/* A key, and how its value is read: 0, -EINVAL or -ENOMEM. */
struct key {
	const char *name;
	int (*parse)(const char *text, void *to);
	size_t at; /* in the settings, or in the config */
	bool is_setting; /* of a profile, else of the service */
	const char *allowed;
	bool is_repeated;
	bool is_place; /* only one of these: each is a cgroup */
};

static int parse_text(const char *text, void *to)
{
	char **ret = to;

	if (!*text)
		return -EINVAL;
	free(*ret);
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static int parse_path(const char *text, void *to)
{
	return text[0] == '/' ? parse_text(text, to) : -EINVAL;
}

static int parse_none(char **ret)
{
	free(*ret);
	*ret = NULL;
	return 0;
}

static int parse_path_or_none(const char *text, void *to)
{
	return strcmp(text, "none") ? parse_path(text, to) : parse_none(to);
}

static int parse_text_or_none(const char *text, void *to)
{
	return strcmp(text, "none") ? parse_text(text, to) : parse_none(to);
}

static int parse_args(const char *text, void *to)
{
	return scope_are_args(text) ? parse_text_or_none(text, to) : -EINVAL;
}

static int parse_bool(const char *text, void *to)
{
	*(bool *)to = !strcmp(text, "yes");
	return *(bool *)to || !strcmp(text, "no") ? 0 : -EINVAL;
}

static int parse_time(const char *text, void *to)
{
	return duration_parse(text, to) || !*(uint64_t *)to ? -EINVAL : 0;
}

static int parse_time_or_none(const char *text, void *to)
{
	*(uint64_t *)to = 0;
	return strcmp(text, "none") ? parse_time(text, to) : 0;
}

static int parse_budget(const char *text, void *to)
{
	return arm_parse_budget(text, to);
}

static int parse_limit(const char *text, void *to)
{
	return limit_options_add(to, text) ? -EINVAL : 0;
}

/* A number from 1 up, with K, M or G behind it if @units are known. */
static int parse_number(const char *text, const char *units, uint64_t most, uint64_t *ret)
{
	const char *unit;
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || errno)
		return -EINVAL;
	unit = *end ? strchr(units, *end) : NULL;
	if (*end && (!unit || end[1]))
		return -EINVAL;
	for (int i = 0; unit && i <= unit - units; i++) {
		if (*ret > most / 1024)
			return -EINVAL;
		*ret *= 1024;
	}
	return *ret && *ret <= most ? 0 : -EINVAL;
}

static int parse_size(const char *text, void *to)
{
	enum { LEAST_BYTES = 1 << 20 };

	return parse_number(text, "KMG", UINT64_C(1) << 50, to) || *(uint64_t *)to < LEAST_BYTES ?
		       -EINVAL : 0;
}

static int parse_count(const char *text, void *to)
{
	uint64_t number;

	if (parse_number(text, "", INT32_MAX, &number))
		return -EINVAL;
	*(uint32_t *)to = (uint32_t)number;
	return 0;
}

static int parse_address(const char *text, void *to)
{
	return http_address_parse(text, to);
}

static int parse_silence(const char *text, void *to)
{
	struct service_config *config = to;
	struct silence *silences = reallocarray(config->silences, config->nr_silences + 1,
						sizeof(*silences));
	int error;

	if (!silences)
		return -ENOMEM;
	config->silences = silences;
	error = silence_parse(text, &silences[config->nr_silences]);
	config->nr_silences += !error;
	return error;
}

/* A URL of one of the @schemes, which are a list that ends with NULL. */
static bool is_url(const char *text, const char *const *schemes)
{
	for (; *schemes; schemes++)
		if (!strncmp(text, *schemes, strlen(*schemes)) && text[strlen(*schemes)])
			return true;
	return false;
}

static int parse_nats(const char *text, void *to)
{
	static const char *const schemes[] = { "nats://", "tls://", NULL };

	return is_url(text, schemes) ? parse_text(text, to) : -EINVAL;
}

static int parse_http(const char *text, void *to)
{
	static const char *const schemes[] = { "http://", "https://", NULL };

	return is_url(text, schemes) ? parse_text(text, to) : -EINVAL;
}

/* Letters, digits, - and _, and dots between them if @has_dots. */
static bool is_name(const char *text, bool has_dots)
{
	bool is_begin = true;

	for (; *text; text++) {
		if (*text == '.' ? !has_dots || is_begin :
				   !isalnum((unsigned char)*text) && *text != '-' && *text != '_')
			return false;
		is_begin = *text == '.';
	}
	return !is_begin;
}

static int parse_subject(const char *text, void *to)
{
	return strlen(text) <= 100 && is_name(text, true) ? parse_text(text, to) : -EINVAL;
}

static int parse_name(const char *text, void *to)
{
	return strlen(text) <= 32 && is_name(text, false) ? parse_text(text, to) : -EINVAL;
}

#define SETTING(member) offsetof(struct service_settings, member), true
#define CONFIG(member) offsetof(struct service_config, member), false

static const struct key keys[] = {
	{ "profiles", parse_path, CONFIG(profiles),
	  .allowed = "a directory, from / on" },
	{ "arm", parse_bool, SETTING(is_armed),
	  .allowed = "yes or no" },
	{ "budget", parse_budget, SETTING(budget_ppm),
	  .allowed = "none, or a number above 0 and up to 100, in per cent" },
	{ "limit", parse_limit, SETTING(limits),
	  .allowed = "TIME, such as 100ms, or TYPE=TIME, or none",
	  .is_repeated = true },
	{ "inline", parse_bool, SETTING(is_inline),
	  .allowed = "yes or no" },
	{ "requests", parse_bool, SETTING(follows_requests),
	  .allowed = "yes or no" },
	{ "request-limit", parse_time_or_none, SETTING(request_limit_ns),
	  .allowed = "none, or a length of time such as 200ms" },
	{ "adapt", parse_time_or_none, SETTING(adapt_ns),
	  .allowed = "none, or a length of time such as 10m" },
	{ "unit", parse_text_or_none, SETTING(scope.unit), .is_place = true,
	  .allowed = "none, or a unit of systemd" },
	{ "container", parse_text_or_none, SETTING(scope.container), .is_place = true,
	  .allowed = "none, or the id or name of a container, or how that begins" },
	{ "cgroup", parse_text_or_none, SETTING(scope.cgroup), .is_place = true,
	  .allowed = "none, or the path of a cgroup" },
	{ "uid", parse_text_or_none, SETTING(scope.user),
	  .allowed = "none, or the name or number of a user" },
	{ "args", parse_args, SETTING(scope.args),
	  .allowed = "none, or from 1 to " SCOPE_MAX_ARGS_TEXT " bytes" },
	{ "keep-armed", parse_bool, CONFIG(keeps_armed),
	  .allowed = "yes or no" },
	{ "window", parse_time_or_none, CONFIG(window_ns),
	  .allowed = "none, or a length of time such as 10s" },
	{ "spool", parse_path_or_none, CONFIG(spool),
	  .allowed = "none, or a file, from / on" },
	{ "spool-size", parse_size, CONFIG(bounds.bytes),
	  .allowed = "a number of bytes from 1M on: 512K, 256M, 2G" },
	{ "spool-alerts", parse_count, CONFIG(bounds.alerts),
	  .allowed = "a number from 1 up" },
	{ "spool-stacks", parse_bool, CONFIG(spools_stacks),
	  .allowed = "yes or no" },
	{ "on-alert", parse_text, CONFIG(hook.command),
	  .allowed = "a command" },
	{ "on-alert-shell", parse_bool, CONFIG(hook.is_shell),
	  .allowed = "yes or no" },
	{ "on-alert-timeout", parse_time, CONFIG(hook.timeout_ns),
	  .allowed = "a length of time such as 30s" },
	{ "on-alert-most", parse_count, CONFIG(hook.most),
	  .allowed = "a number from 1 up" },
	{ "metrics", parse_address, CONFIG(metrics),
	  .allowed = HTTP_ADDRESS_ALLOWED },
	{ "nats", parse_nats, CONFIG(forwarding.nats.servers),
	  .allowed = "nats://HOST:PORT or tls://HOST:PORT, or several with commas between them" },
	{ "nats-subject", parse_subject, CONFIG(forwarding.nats.subject),
	  .allowed = "names with dots between them" },
	{ "nats-stream", parse_name, CONFIG(forwarding.nats.stream),
	  .allowed = "a name of at most 32 letters, digits, - and _" },
	{ "nats-credentials", parse_path, CONFIG(forwarding.nats.credentials),
	  .allowed = "a file, from / on" },
	{ "nats-ca", parse_path, CONFIG(forwarding.nats.ca),
	  .allowed = "a file, from / on" },
	{ "nats-certificate", parse_path, CONFIG(forwarding.nats.certificate),
	  .allowed = "a file, from / on" },
	{ "nats-key", parse_path, CONFIG(forwarding.nats.key),
	  .allowed = "a file, from / on" },
	{ "otlp", parse_http, CONFIG(forwarding.otlp.url),
	  .allowed = "http://HOST:PORT or https://HOST:PORT" },
	{ "otlp-headers", parse_path, CONFIG(forwarding.otlp.headers),
	  .allowed = "a file, from / on" },
	{ "otlp-ca", parse_path, CONFIG(forwarding.otlp.ca),
	  .allowed = "a file, from / on" },
	{ "machine", parse_name, CONFIG(forwarding.machine),
	  .allowed = "a name of at most 32 letters, digits, - and _" },
	{ "sync", parse_time_or_none, CONFIG(forwarding.sync_ns),
	  .allowed = "none, or a length of time such as 10m" },
	{ "trained", parse_path, CONFIG(forwarding.trained),
	  .allowed = "a directory, from / on" },
	{ "silence", parse_silence, 0, false,
	  .allowed = "UNTIL PROGRAM [TYPE], UNTIL in UTC such as 2026-12-31T08:00Z", .is_repeated = true },
};

enum { NR_KEYS = sizeof(keys) / sizeof(keys[0]) };

static void __attribute__((format(printf, 2, 3)))
refuse(struct config_reader *reader, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_error("%s:%" PRIu32 ": %s", reader->path, reader->line, text);
	reader->is_bad = true;
}

static void refuse_key(struct config_reader *reader, const char *name)
{
	bool is_section = reader->settings != &reader->config->all;
	char all[1024];
	size_t len = 0;

	for (int i = 0; i < NR_KEYS; i++)
		if ((keys[i].is_setting || !is_section) && len < sizeof(all))
			len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s",
						len ? ", " : "", keys[i].name);
	refuse(reader, "there is no key '%s'%s; there are %s", name,
	       is_section ? " for one profile" : "", all);
}

static bool is_given(const struct config_reader *reader, int i)
{
	return reader->given & UINT64_C(1) << i;
}

/* The one that is given takes the place of another one that all profiles have. */
static bool replace_places(struct config_reader *reader, int given)
{
	for (int i = 0; i < NR_KEYS; i++) {
		char **place = (char **)((char *)reader->settings + keys[i].at);

		if (!keys[i].is_place || i == given)
			continue;
		if (is_given(reader, i) && *place) {
			refuse(reader, "%s and %s are both given: each is a cgroup, and only one can be meant",
			       keys[i].name, keys[given].name);
			return false;
		}
		parse_none(place);
	}
	return true;
}

static void take_value(struct config_reader *reader, int i, const char *value)
{
	const struct key *key = &keys[i];
	char *object = key->is_setting ? (char *)reader->settings : (char *)reader->config;

	if (is_given(reader, i) && !key->is_repeated) {
		refuse(reader, "%s is given twice", key->name);
		return;
	}
	reader->given |= UINT64_C(1) << i;
	if (key->is_place && strcmp(value, "none") && !replace_places(reader, i))
		return;
	switch (key->parse(value, object + key->at)) {
	case 0:
		return;
	case -ENOMEM:
		refuse(reader, "out of memory");
		return;
	}
	refuse(reader, "%s is %s, not '%s'", key->name, key->allowed, value);
}

/* Without blanks at both ends. */
static char *strip(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

static void read_key(struct config_reader *reader, char *line)
{
	char *value = strchr(line, '=');
	bool is_section = reader->settings != &reader->config->all;

	if (!value) {
		refuse(reader, "'%s' is neither KEY = VALUE nor [profile NAME]", line);
		return;
	}
	*value++ = '\0';
	line = strip(line);
	if (!strcmp(line, "user"))
		line = "uid"; /* as it was called before */
	for (int i = 0; i < NR_KEYS; i++) {
		if (strcmp(keys[i].name, line) || (is_section && !keys[i].is_setting))
			continue;
		take_value(reader, i, strip(value));
		return;
	}
	refuse_key(reader, line);
}

/* It begins with what is wanted of all. */
static void begin_section(struct config_reader *reader, const char *name)
{
	struct service_config *config = reader->config;
	struct service_settings *sections;

	if (strchr(name, '/') || !*name) {
		refuse(reader, "a section is [profile NAME], NAME a file in %s, not '%s'",
		       config->profiles, name);
		return;
	}
	for (uint32_t i = 0; i < config->nr_sections; i++)
		if (!strcmp(config->sections[i].name, name))
			refuse(reader, "[profile %s] is there twice", name);
	sections = reallocarray(config->sections, config->nr_sections + 1, sizeof(*sections));
	if (!sections) {
		refuse(reader, "out of memory");
		return;
	}
	config->sections = sections;
	reader->settings = &sections[config->nr_sections++];
	*reader->settings = config->all;
	reader->settings->name = strdup(name);
	reader->settings->line = reader->line;
	if (service_scope_copy(&reader->settings->scope, &config->all.scope))
		refuse(reader, "out of memory");
	reader->given = 0;
}

static void read_line(struct config_reader *reader, char *line)
{
	static const char begin[] = "[profile ";
	size_t len;

	line = strip(line);
	len = strlen(line);
	if (!len || line[0] == '#')
		return;
	if (line[0] != '[') {
		read_key(reader, line);
		return;
	}
	if (strncmp(line, begin, strlen(begin)) || line[len - 1] != ']') {
		refuse(reader, "a section is [profile NAME], not '%s'", line);
		return;
	}
	line[len - 1] = '\0';
	begin_section(reader, strip(line + strlen(begin)));
}

static void set_defaults(struct service_config *config)
{
	*config = (struct service_config){
		.profiles = strdup("/etc/perfguard/profiles.d"),
		.all = { .is_armed = true, .budget_ppm = ARM_DEFAULT_BUDGET_PPM },
		.window_ns = 10 * NSEC_PER_SEC,
		.spool = strdup("/var/lib/perfguard/spool"),
		.bounds = { .bytes = UINT64_C(256) << 20, .alerts = 100000 },
		.spools_stacks = true,
		.forwarding.nats = {
			.subject = strdup("perfguard"), .stream = strdup("perfguard-alerts"),
		},
		.hook = { .timeout_ns = 30 * NSEC_PER_SEC, .most = 4 },
	};
}

/* What it says is done with our rights: nobody else may have written it. */
static bool is_trusted(const char *path, FILE *file)
{
	struct stat st;

	if (fstat(fileno(file), &st)) {
		log_error("cannot read %s: %s", path, strerror(errno));
		return false;
	}
	if ((!st.st_uid || st.st_uid == geteuid()) && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return true;
	log_error("others than root can write %s, which names a command to run: 'chown root %s; "
		  "chmod go-w %s'", path, path, path);
	return false;
}

int service_config_read(const char *path, struct service_config *config)
{
	struct config_reader reader = { .path = path, .config = config, .settings = &config->all };
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	set_defaults(config);
	if (!config->profiles || !config->spool || !config->forwarding.nats.subject ||
	    !config->forwarding.nats.stream) {
		if (file)
			fclose(file);
		return cmd_no_memory();
	}
	if (!file) {
		log_error("cannot open %s: %s", path, strerror(errno));
		return CMD_FAILED;
	}
	if (!is_trusted(path, file)) {
		fclose(file);
		return CMD_USAGE;
	}
	while (getline(&line, &size, file) >= 0) {
		reader.line++;
		read_line(&reader, line);
	}
	if (ferror(file)) {
		log_error("cannot read %s: %s", path, strerror(errno));
		reader.is_bad = true;
	}
	free(line);
	fclose(file);
	return reader.is_bad ? CMD_USAGE : 0;
}

static void clear_settings(struct service_settings *settings)
{
	free(settings->name);
	service_scope_clear(&settings->scope);
}

static void clear_forwarding(struct service_forwarding *forwarding)
{
	free(forwarding->nats.servers);
	free(forwarding->nats.subject);
	free(forwarding->nats.stream);
	free(forwarding->nats.credentials);
	free(forwarding->nats.ca);
	free(forwarding->nats.certificate);
	free(forwarding->nats.key);
	free(forwarding->otlp.url);
	free(forwarding->otlp.headers);
	free(forwarding->otlp.ca);
	free(forwarding->machine);
	free(forwarding->trained);
}

void service_config_deinit(struct service_config *config)
{
	for (uint32_t i = 0; i < config->nr_sections; i++)
		clear_settings(&config->sections[i]);
	for (uint32_t i = 0; i < config->nr_silences; i++)
		silence_clear(&config->silences[i]);
	clear_settings(&config->all);
	clear_forwarding(&config->forwarding);
	free(config->sections);
	free(config->silences);
	free(config->profiles);
	free(config->spool);
	free(config->hook.command);
	memset(config, 0, sizeof(*config));
}

const struct service_settings *service_config_find(const struct service_config *config,
						   const char *name)
{
	for (uint32_t i = 0; i < config->nr_sections; i++)
		if (!strcmp(config->sections[i].name, name))
			return &config->sections[i];
	return &config->all;
}
