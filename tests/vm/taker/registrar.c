// SPDX-License-Identifier: GPL-2.0
/* Registers a generic netlink family, as many modules do when they are loaded. */

#include <linux/module.h>
#include <net/genetlink.h>

static struct genl_family family __ro_after_init = {
	.name = "registrar",
	.version = 1,
	.module = THIS_MODULE,
};

static int __init registrar_init(void)
{
	return genl_register_family(&family);
}

static void __exit registrar_exit(void)
{
	genl_unregister_family(&family);
}

module_init(registrar_init);
module_exit(registrar_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Registers a generic netlink family");
