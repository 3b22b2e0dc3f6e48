/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The file with the symbols of a stripped one: a package of debug symbols
 * installs it, or it lies in the same directory.
 */
#ifndef _USER_BINARY_FILE_DEBUG_FILE_H
#define _USER_BINARY_FILE_DEBUG_FILE_H

#include <elfutils/libdwfl.h>
#include <stdint.h>

struct debug_file_wanted {
	uint8_t id[64]; /* build id */
	uint32_t id_size; /* bytes */
	char link[256]; /* name in .gnu_debuglink, "" without one */
};

/*
 * Open the file in place number @nr where that of the program at @path may be: in the root of a
 * process, where the path begins with that (path_in_root()), and in ours.  Returns
 * a descriptor, -ENOENT if there is none, or -ERANGE if there are no more places.
 */
int debug_file_open(const char *path, const struct debug_file_wanted *wanted, unsigned int nr);

/* Who opens them for debug_file_find(): debug_file_open(), unless this process may not. */
typedef int debug_file_opener(const char *path, const struct debug_file_wanted *wanted,
			      unsigned int nr);
void debug_file_set_opener(debug_file_opener *opener);

/*
 * For Dwfl_Callbacks.  Searches for the build id in /usr/lib/debug/.build-id, then for
 * the name in .gnu_debuglink in the directories that gdb searches; takes only a
 * file of the same build id.  If $DEBUGINFOD_URLS is set, those servers are queried last.
 */
int debug_file_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    const char *path, const char *link, GElf_Word crc, char **ret_path);

#endif /* _USER_BINARY_FILE_DEBUG_FILE_H */
