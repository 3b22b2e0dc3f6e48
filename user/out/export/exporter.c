// SPDX-License-Identifier: GPL-2.0

#include "out/export/exporter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "out/export/export-formats.h"
#include "out/read/incident.h"
#include "out/read/json-value.h"
#include "out/read/written-line.h"

struct export {
	struct incidents incidents;
	uint64_t nr_lines;
	uint64_t nr_broken;
};

struct export *export_new(void)
{
	return calloc(1, sizeof(struct export));
}

void export_free(struct export *export)
{
	if (!export)
		return;
	incidents_deinit(&export->incidents);
	free(export);
}

int export_add_line(struct export *export, const char *line, size_t len)
{
	json_t *object = len <= WRITTEN_LINE_MAX ? value_parse(line, len) : NULL;
	const char *kind = value_text(object, "kind");
	int ret = 0;

	export->nr_lines++;
	export->nr_broken += !kind;
	if (kind && incident_is_of(kind))
		ret = incidents_add(&export->incidents, object, line, len);
	json_decref(object);
	return ret;
}

uint64_t export_nr_lines(const struct export *export)
{
	return export->nr_lines;
}

uint64_t export_nr_broken(const struct export *export)
{
	return export->nr_broken;
}

uint64_t export_nr_incidents(const struct export *export)
{
	return export->incidents.nr;
}

uint64_t export_nr_left_out(const struct export *export)
{
	uint64_t nr = export->incidents.nr_left_out;

	for (uint32_t i = 0; i < export->incidents.nr; i++)
		nr += export->incidents.of[i].last_line == HASH_INDEX_NONE;
	return nr;
}

int export_render(const struct export *export, enum export_format format, char **ret,
		  size_t *ret_len)
{
	static int (*const writers[])(FILE *file, const struct incidents *incidents) = {
		[EXPORT_FOLDED] = export_folded,
		[EXPORT_PPROF] = export_pprof,
		[EXPORT_PERFETTO] = export_perfetto,
	};
	FILE *file;
	int error;

	*ret = NULL;
	file = open_memstream(ret, ret_len);
	if (!file)
		return -ENOMEM;
	error = writers[format](file, &export->incidents);
	if (fclose(file))
		error = -ENOMEM;
	if (error) {
		free(*ret);
		*ret = NULL;
	}
	return error;
}
