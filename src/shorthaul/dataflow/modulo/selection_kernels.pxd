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
    cdef const long long[::1] leader

cdef class Selection:
    cdef long long[::1] time
    cdef long long[::1] moved
    cdef long long[::1] tried
    cdef long long[::1] turn
    cdef long long[::1] residue
    cdef long long[::1] order
    cdef long long[::1] near
    cdef readonly long long steps
    cdef Py_ssize_t arcs
    cdef long long[::1] arc_from
    cdef long long[::1] arc_to
    cdef long long[::1] arc_ticks
    cdef long long[::1] arc_periods
    cdef long long[::1] arc_least
    cdef long long[::1] into
    cdef long long[::1] seen
    cdef long long[::1] cycle
    cdef long long[::1] critical
    cdef Py_ssize_t criticals
    cdef long long[::1] tight_from
    cdef long long[::1] tight_to
    cdef long long[::1] tight_lag

cdef void select(Graph graph, Selection room, long long period) noexcept nogil
cdef long long least_period(Selection room, long long low, long long most, long long near) noexcept nogil
cdef void copy(const long long[::1] source, long long[::1] target) noexcept nogil
