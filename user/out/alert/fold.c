// SPDX-License-Identifier: GPL-2.0

#include "out/alert/fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void fold_subject_clear(struct fold_subject *subject)
{
	free(subject->exe);
	free(subject->build_id);
	free(subject->comm);
	free(subject->type_name);
	free(subject->function);
	memset(subject, 0, sizeof(*subject));
}

void fold_init(struct fold *fold, uint64_t window_ns)
{
	memset(fold, 0, sizeof(*fold));
	fold->window_ns = window_ns;
	fold->next_id = 1;
}

void fold_deinit(struct fold *fold)
{
	for (uint32_t i = 0; i < fold->nr; i++)
		fold_subject_clear(&fold->windows[i].subject);
	free(fold->windows);
	memset(fold, 0, sizeof(*fold));
}

static bool is_same(const struct fold_key *a, const struct fold_key *b)
{
	return a->target == b->target && a->type == b->type && a->path == b->path;
}

static struct fold_window *find_key(const struct fold *fold, const struct fold_key *key)
{
	for (uint32_t i = 0; i < fold->nr; i++)
		if (is_same(&fold->windows[i].key, key))
			return &fold->windows[i];
	return NULL;
}

/* NULL if there is no room: then the next one is printed, too. */
static struct fold_window *new_window(struct fold *fold)
{
	if (fold->nr == FOLD_MAX_WINDOWS || array_grow(fold->windows, fold->nr, fold->max))
		return NULL;
	return &fold->windows[fold->nr++];
}

static bool has_many(const struct fold *fold, const struct fold_key *key)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < fold->nr; i++)
		nr += fold->windows[i].key.target == key->target &&
		      fold->windows[i].key.type == key->type;
	return nr >= FOLD_MAX_PATHS;
}

static bool is_over(const struct fold *fold, const struct fold_window *window, uint64_t now_ns)
{
	return now_ns >= window->begin_ns && now_ns - window->begin_ns >= fold->window_ns;
}

static void begin(struct fold *fold, struct fold_window *window, uint64_t now_ns)
{
	*window = (struct fold_window){
		.id = fold->next_id++,
		.key = window->key,
		.subject = window->subject,
		.begin_ns = now_ns,
	};
}

static void note(struct fold_window *window, uint64_t elapsed_ns, bool has_ended)
{
	if (!has_ended) {
		if (elapsed_ns > window->running_ns)
			window->running_ns = elapsed_ns;
		return;
	}
	if (!window->nr_ended || elapsed_ns < window->min_ns)
		window->min_ns = elapsed_ns;
	if (elapsed_ns > window->max_ns)
		window->max_ns = elapsed_ns;
	window->nr_ended++;
}

uint64_t fold_add(struct fold *fold, const struct fold_key *key, struct fold_subject *subject,
		  uint64_t now_ns, uint64_t elapsed_ns, bool has_ended)
{
	struct fold_key in_common = { key->target, key->type, FOLD_VARIOUS };
	struct fold_window *window;

	if (!fold->window_ns)
		return 0;
	window = find_key(fold, key);
	if (!window && has_many(fold, key)) {
		key = &in_common;
		window = find_key(fold, key);
	}
	/* Over without any, though nobody asked since: the next one is a new one. */
	if (window && (window->nr_units || !is_over(fold, window, now_ns))) {
		window->nr_units++;
		note(window, elapsed_ns, has_ended);
		return window->id;
	}
	if (!window) {
		window = new_window(fold);
		if (!window)
			return 0;
		memset(window, 0, sizeof(*window));
		window->key = *key;
	}
	fold_subject_clear(&window->subject);
	window->subject = *subject;
	memset(subject, 0, sizeof(*subject));
	begin(fold, window, now_ns);
	if (key->path != FOLD_VARIOUS)
		return 0;
	window->subject.is_various = true;
	window->nr_units = 1;
	note(window, elapsed_ns, has_ended);
	return window->id;
}

bool fold_go_on(struct fold *fold, uint64_t id, uint64_t elapsed_ns, bool has_ended)
{
	for (uint32_t i = 0; i < fold->nr; i++) {
		if (fold->windows[i].id != id)
			continue;
		note(&fold->windows[i], elapsed_ns, has_ended);
		return true;
	}
	return false;
}

uint64_t fold_due(const struct fold *fold)
{
	uint64_t due = UINT64_MAX;

	for (uint32_t i = 0; i < fold->nr; i++)
		if (fold->windows[i].begin_ns + fold->window_ns < due)
			due = fold->windows[i].begin_ns + fold->window_ns;
	return due;
}

bool fold_next(struct fold *fold, uint64_t now_ns, struct fold_window *ret)
{
	uint32_t i = 0;

	while (i < fold->nr) {
		struct fold_window *window = &fold->windows[i];

		if (!is_over(fold, window, now_ns)) {
			i++;
		} else if (window->nr_units) {
			*ret = *window;
			begin(fold, window, now_ns);
			return true;
		} else {
			fold_subject_clear(&window->subject);
			fold->nr--;
			memmove(window, window + 1, (fold->nr - i) * sizeof(*window));
		}
	}
	return false;
}
