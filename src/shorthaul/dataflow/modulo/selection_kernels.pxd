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
    cdef long long[::1] tried
    cdef long long[::1] turn  # per node, in which period it starts
    cdef long long[::1] residue
    cdef long long[::1] order
    cdef long long[::1] near  # the tasks of every interconnect and core as the last selection had them in order
    cdef readonly long long steps  # arcs looked at so far: the work
    cdef Py_ssize_t arcs
    cdef long long[::1] arc_from
    cdef long long[::1] arc_to
    cdef long long[::1] arc_ticks
    cdef long long[::1] arc_periods
    cdef long long[::1] arc_least  # what the arc says at the period in question
    cdef long long[::1] into  # the arc that made a node late
    cdef long long[::1] seen
    cdef long long[::1] first_out  # per node, the first of the arcs that leave it; -1 for none
    cdef long long[::1] next_out  # per arc, the next one of its node
    cdef long long[::1] depth  # per node, in the forest of arcs that made nodes late; -1 for one that is not there
    cdef long long[::1] following  # the next node of the forest, those that hang on a node behind it
    cdef long long[::1] leading  # the last one
    cdef long long[::1] queue  # nodes whose arcs may make others late
    cdef unsigned char[::1] is_waiting
    cdef long long[::1] cycle
    cdef long long[::1] critical  # the arcs that forbid a smaller period
    cdef Py_ssize_t criticals
    cdef long long[::1] tight_from  # the critical arcs of the schedule ``time``
    cdef long long[::1] tight_to
    cdef long long[::1] tight_lag  # in periods

cdef void select(Graph graph, Selection room, long long period) noexcept nogil
cdef long long least_period(Selection room, long long low, long long most, long long near) noexcept nogil
cdef void copy(const long long[::1] source, long long[::1] target) noexcept nogil
