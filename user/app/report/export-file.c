// SPDX-License-Identifier: GPL-2.0

#include "app/report/export-file.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

#include "app/common/alert-lines.h"
#include "app/common/command.h"
#include "base/log.h"
#include "base/long-step.h"
#include "out/export/exporter.h"
#include "store/file.h"

static int take_line(void *arg, const char *line, size_t len)
{
	return export_add_line(arg, line, len);
}

static int write_file(const struct export *export, const struct export_file *of)
{
	char why[FILE_WHY_MAX], *text;
	size_t len;
	int ret = CMD_OK, error;

	long_step_begin("making the file");
	error = export_render(export, (enum export_format)of->format, &text, &len);
	long_step_end();
	if (error)
		return cmd_no_memory();
	if (file_replace(of->output, (uint8_t *)text, len, why)) {
		log_error("%s", why);
		ret = CMD_FAILED;
	}
	free(text);
	return ret;
}

static void report_left_out(const struct export *export)
{
	uint64_t nr = export_nr_left_out(export);

	if (nr)
		log_warning("%" PRIu64 " late units and requests are left out: the input has too many",
			    nr);
	if (!export_nr_incidents(export))
		log_warning("no unit or request was late: the file has nothing in it");
}

int export_file_write(const struct export_file *of)
{
	struct export *export = export_new();
	int ret = export ? cmd_check_output(of->output) : cmd_no_memory();

	if (!ret)
		ret = alert_lines_read(of->input, take_line, export, NULL);
	if (!ret)
		ret = alert_lines_check(of->input, export_nr_lines(export), export_nr_broken(export));
	if (!ret)
		report_left_out(export);
	if (!ret)
		ret = write_file(export, of);
	export_free(export);
	return ret;
}
