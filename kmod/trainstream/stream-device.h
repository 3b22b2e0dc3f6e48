/* SPDX-License-Identifier: GPL-2.0 */
/* The device by which the training stream is read. */
#ifndef _KMOD_TRAINSTREAM_STREAM_DEVICE_H
#define _KMOD_TRAINSTREAM_STREAM_DEVICE_H

int pguard_stream_device_init(void);
void pguard_stream_device_deinit(void);

#endif /* _KMOD_TRAINSTREAM_STREAM_DEVICE_H */
