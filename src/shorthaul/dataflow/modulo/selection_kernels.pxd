cdef class Graph:
    cdef const long long[::1] duration
    cdef const long long[::1] kind
    cdef const long long[::1] firing
    cdef const long long[::1] first
    cdef const long long[::1] stop
    cdef const long long[::1] execution
    cdef const long long[::1] on_at
    cdef const long long[::1] on
    cdef const long long[::1] core_at
    cdef const long long[::1] at_core
    cdef const long long[:, ::1] tokens
    cdef const long long[::1] accesses
    cdef const long long[::1] leader  # the first firing of each one's unit

cdef class Selection:
    cdef long long[::1] time
    cdef long long[::1] moved
    cdef long long[::1] kept  # times at the period of before
    cdef readonly long long steps  # arcs looked at so far: the work
    # per arc; those of interconnects, of cores, and within firings are in the order of their tasks
    cdef object grouped
    cdef Py_ssize_t slots  # arcs of interconnects and cores, which come first
    cdef const long long[::1] source
    cdef const long long[::1] entry  # the node at which its predecessor ends
    cdef const long long[::1] ticks
    cdef long long[::1] target
    cdef long long[::1] periods
    cdef long long[::1] following
    cdef long long[::1] leading
    # per node, the arcs that leave it, and those that arrive at it: arcs whose predecessors do, and arcs of tokens
    cdef const long long[::1] out_at
    cdef const long long[::1] out
    cdef const long long[::1] entry_at
    cdef const long long[::1] entries
    cdef const long long[::1] token_at
    cdef const long long[::1] tokens_to
    # the forest of arcs that made nodes late
    cdef long long visit
    cdef long long[::1] visited
    cdef Py_ssize_t touched
    cdef long long[::1] touch
    cdef long long[::1] before  # per touched node, its time before
    cdef long long[::1] into
    cdef long long[::1] depth  # -1 for a node that is not there
    cdef long long[::1] after  # the next node of the forest; those that hang on a node come behind it
    cdef long long[::1] ahead
    cdef long long[::1] queue
    cdef Py_ssize_t head
    cdef Py_ssize_t waiting
    cdef unsigned char[::1] is_waiting
    cdef long long[::1] cycle
    # the critical cycle, with what its arcs were then
    cdef Py_ssize_t criticals
    cdef long long[::1] critical
    cdef long long[::1] critical_target
    cdef long long[::1] critical_periods

cdef void begin(Selection room) noexcept nogil
cdef void set_time(Selection room, long long node, long long at) noexcept nogil
cdef void take_back(Selection room) noexcept nogil
cdef void wait_if_late(Selection room, long long node, long long period) noexcept nogil
cdef void wait_around(Selection room, long long node, long long period) noexcept nogil
cdef Py_ssize_t raise_times(Selection room, long long period) noexcept nogil
cdef long long ratio(Selection room, Py_ssize_t length) noexcept nogil
cdef void note_critical(Selection room, Py_ssize_t length) noexcept nogil
cdef bint is_critical(Selection room) noexcept nogil
cdef void rescale(Selection room, long long period, long long other) noexcept nogil
cdef long long least_period(Selection room, long long low, long long most, long long period) noexcept nogil
cdef void keep(Selection room) noexcept nogil
cdef void restore(Selection room) noexcept nogil
