// SPDX-License-Identifier: GPL-2.0
/*
 * The C++ runtime does it.  It is loaded with the first such name: systems that
 * run C++ programs have it, others need not.
 */

#include "base/demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangler(const char *name, char *buffer, size_t *size, int *status);

static demangler *find_demangler(void)
{
	static demangler *found;
	static bool is_tried;
	void *library;

	if (is_tried)
		return found;
	is_tried = true;
	library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	if (library)
		*(void **)&found = dlsym(library, "__cxa_demangle");
	return found;
}

void demangle_load(void)
{
	find_demangler();
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/*
 * Where the parameters begin: at the parenthesis that the last one closes.
 * The rest (const, a clone's suffix) is removed, too.
 */
static void cut_parameters(char *text)
{
	char *end = strrchr(text, ')');
	int depth = 0;

	while (end && end > text) {
		depth += (*end == ')') - (*end == '(');
		if (!depth)
			break;
		end--;
	}
	/* operator() keeps its own */
	if (end && end > text && !(end - text >= 8 && begins(end - 8, "operator")))
		*end = '\0';
}

char *demangle(const char *name)
{
	demangler *call;
	char *text;
	int status;

	if (!begins(name, "_Z"))
		return NULL;
	call = find_demangler();
	if (!call)
		return NULL;
	text = call(name, NULL, NULL, &status);
	if (!text)
		return NULL;
	cut_parameters(text);
	return text;
}
