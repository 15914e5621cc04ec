cdef class Network:
    cdef const long long[::1] tails
    cdef const long long[::1] heads
    cdef readonly long long[::1] capacities
    cdef long long[::1] starts
    cdef long long[::1] arcs
    cdef long long[::1] level
    cdef long long[::1] queue
    cdef long long[::1] path
    cdef long long[::1] cursor

cdef void group_arcs(Network net) noexcept nogil
cdef long long flow_of(Network net, long long source, long long sink, long long enough) noexcept nogil
cdef long long push_phase(Network net, long long source, long long sink, long long enough) noexcept nogil
