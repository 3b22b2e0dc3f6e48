/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The file with the symbols of a stripped one: a package of debug symbols
 * installs it, or it lies in the same directory.
 */
#ifndef _USER_BINARY_FILE_DEBUG_FILE_H
#define _USER_BINARY_FILE_DEBUG_FILE_H

#include <elfutils/libdwfl.h>

/*
 * For Dwfl_Callbacks.  Searches for the build id in /usr/lib/debug/.build-id, then for
 * the name in .gnu_debuglink in the directories that gdb searches; takes only a
 * file of the same build id.  If $DEBUGINFOD_URLS is set, libdw does the search
 * and queries those servers; else it is not called, as it would load its network
 * client only to find the variable unset.
 */
int debug_file_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    const char *path, const char *link, GElf_Word crc, char **ret_path);

#endif /* _USER_BINARY_FILE_DEBUG_FILE_H */
