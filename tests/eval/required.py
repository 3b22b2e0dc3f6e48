# SPDX-License-Identifier: GPL-2.0
"""The requirements on training, in numbers, and the figures of the paper."""

import paper_known

PROGRAMS = ["redis", "nginx", "memcached", "apache", "mariadb"]
KERNELS = ["6.1", "6.12"]

# Units and requests may differ by this share.
UNITS = 0.01
# The types' adjusted Rand index against the client's labels.
RAND_INDEX = {"redis": 0.95, "nginx": 0.95, "memcached": None, "apache": 0.9, "mariadb": 0.9}
# Call trees that training has not seen, of the held-back units of four clients.
UNSEEN = {"redis": 0.06, "nginx": 0.02}
# Hits a unit that the guards may take, and the share of units that are then recognised.
BUDGETS = [1, 2, 4]
ACCURACY = {
    "redis": (0.95, 0.98, 0.99), "memcached": (0.83, 0.98, 0.99), "nginx": (0.90, 0.98, 0.99),
    "mariadb": (0.98, 0.99, 0.99), "apache": (0.45, 0.72, 0.97),
}
ACCURACY_OF_FOUR = {"redis": (0.83, 0.97, 0.98)}
WORST_HITS = 25
HITS_OF_PLAN = 1.2
# Seconds in which guards are chosen for that many units.
SELECTION_UNITS = 4000
SELECTION_SECONDS = 10
# Seconds of a whole training.
TRAINING = {"redis": 180}

PAPER_DEVIATION = paper_known.DEVIATION
PAPER_CONTEXTS = paper_known.CONTEXTS

# The loop that serves: the system calls it waits in, and the functions whose calls, in the
# function that owns the loop or below it, lead to them.  They are looked up in the program's
# files, by their return addresses and without the product.
LOOPS = {
    "redis": {"waits": ("epoll_wait",), "calls": ("epoll_wait", "aeProcessEvents"),
              "in": ("aeMain",)},
    "nginx": {"waits": ("epoll_wait",),
              "calls": ("epoll_wait", "ngx_process_events_and_timers")},
    "memcached": {"waits": ("epoll_wait",), "calls": ("epoll_wait", "event_base_loop"),
                  "in": ("event_base_loop",)},
    "apache": {"waits": ("futex",),
               "calls": ("pthread_cond_wait", "apr_thread_cond_wait", "ap_queue_pop_something"),
               "in": ("ap_queue_pop_something", "pthread_cond_wait")},
    "mariadb": {"waits": ("poll", "recvfrom", "futex"),
                "calls": ("poll", "recv", "vio_read", "my_net_read_packet", "my_net_read",
                          "do_command"),
                "in": ("do_handle_one_connection", "do_command")},
}
