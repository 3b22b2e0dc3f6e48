/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the symbols of a stripped file are: the debug file that a package of its
 * debug symbols installs, or that lies beside it.
 */
#ifndef _USER_BINARY_FILE_DEBUG_FILE_H
#define _USER_BINARY_FILE_DEBUG_FILE_H

#include <elfutils/libdwfl.h>

/*
 * For Dwfl_Callbacks.  Takes only a file of the same build id, by which it is
 * looked for in /usr/lib/debug/.build-id; or by the name in .gnu_debuglink, where
 * gdb looks.  If $DEBUGINFOD_URLS is set, libdw looks, and asks those servers;
 * else it must not, as it would load its network client only to find that out.
 */
int debug_file_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    const char *path, const char *link, GElf_Word crc, char **ret_path);

#endif /* _USER_BINARY_FILE_DEBUG_FILE_H */
