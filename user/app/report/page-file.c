// SPDX-License-Identifier: GPL-2.0

#include "app/report/page-file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/alert-lines.h"
#include "app/common/command.h"
#include "base/log.h"
#include "base/long-step.h"
#include "out/page/page.h"
#include "out/profile/profile-view.h"
#include "out/read/written-line.h"
#include "store/file.h"
#include "store/profile-file.h"

/* A profile and what is seen of it. */
struct loaded {
	struct samples samples;
	struct model model;
	struct training training;
	struct profile_view view;
	bool is_loaded;
	bool has_view;
};

static int load_profile(struct loaded *loaded, const char *path)
{
	char why[PROFILE_WHY_MAX];

	if (profile_load(path, &loaded->samples, &loaded->model, &loaded->training, why)) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	loaded->is_loaded = true;
	if (profile_view_init(&loaded->view, path, &loaded->samples, &loaded->model,
			      &loaded->training))
		return cmd_no_memory();
	loaded->has_view = true;
	return CMD_OK;
}

static void loaded_deinit(struct loaded *loaded)
{
	if (loaded->has_view)
		profile_view_deinit(&loaded->view);
	if (!loaded->is_loaded)
		return;
	samples_deinit(&loaded->samples);
	model_deinit(&loaded->model);
}

static int take_line(void *arg, const char *line, size_t len)
{
	return page_add_line(arg, line, len);
}

static int write_page(const struct page *page, const char *path)
{
	char why[FILE_WHY_MAX], *text;
	size_t len;
	int ret = CMD_OK, error;

	long_step_begin("making the page");
	error = page_render(page, &text, &len);
	long_step_end();
	if (error)
		return cmd_no_memory();
	if (file_replace(path, (uint8_t *)text, len, why)) {
		log_error("%s", why);
		ret = CMD_FAILED;
	}
	free(text);
	return ret;
}

int page_file_write(const struct page_file *of)
{
	struct loaded loaded = { 0 };
	struct alert_lines_missing missing = { 0 };
	struct page *page = page_new();
	int ret = page ? cmd_check_output(of->output) : cmd_no_memory();

	if (!ret && of->profile)
		ret = load_profile(&loaded, of->profile);
	if (!ret && loaded.has_view)
		page_set_profile(page, &loaded.view);
	if (!ret)
		ret = alert_lines_read(of->input, take_line, page, &missing);
	if (!ret)
		ret = alert_lines_check(of->input, page_nr_lines(page), page_nr_broken(page));
	if (!ret)
		page_set_missing(page, missing.dropped, missing.unsaved);
	if (!ret)
		ret = write_page(page, of->output);
	page_free(page);
	loaded_deinit(&loaded);
	return ret;
}

/* For fopencookie(): cut what is written into lines. */
static ssize_t take_bytes(void *cookie, const char *bytes, size_t size)
{
	struct page_stream *stream = cookie;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != '\n') {
			if (stream->len <= WRITTEN_LINE_MAX)
				stream->line[stream->len++] = bytes[i];
			continue;
		}
		if (page_add_line(stream->page, stream->line, stream->len))
			return 0;
		stream->len = 0;
	}
	return (ssize_t)size;
}

static void stream_deinit(struct page_stream *stream)
{
	page_free(stream->page);
	free(stream->line);
}

int page_stream_open(struct page_stream *stream, const char *output)
{
	int ret = cmd_check_output(output);

	if (ret)
		return ret;
	*stream = (struct page_stream){ .page = page_new(), .line = malloc(WRITTEN_LINE_MAX + 1) };
	if (stream->page && stream->line)
		stream->file =
			fopencookie(stream, "w", (cookie_io_functions_t){ .write = take_bytes });
	if (stream->file)
		return CMD_OK;
	stream_deinit(stream);
	return cmd_no_memory();
}

int page_stream_close(struct page_stream *stream, const char *output)
{
	int ret = fclose(stream->file) ? cmd_no_memory() : CMD_OK;

	if (!ret && output)
		ret = write_page(stream->page, output);
	stream_deinit(stream);
	return ret;
}
