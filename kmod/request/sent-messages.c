// SPDX-License-Identifier: GPL-2.0

#include "request/sent-messages.h"

struct pguard_sent pguard_sent_places[PGUARD_SENT_PLACES];
