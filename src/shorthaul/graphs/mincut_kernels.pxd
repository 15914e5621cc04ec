cdef class Network:
    cdef const long long[::1] tails
    cdef const long long[::1] heads
    cdef readonly long long[::1] capacities
    cdef long long[::1] starts
    cdef long long[::1] arcs  # arcs[starts[v]:starts[v + 1]] leave node v
    cdef long long[::1] level  # distance from the source, -1: not reached, or nothing leads on from here
    cdef long long[::1] queue
    cdef long long[::1] path
    cdef long long[::1] cursor

cdef void group_arcs(Network net) noexcept nogil
cdef long long push_phase(Network net, long long source, long long sink, long long enough) noexcept nogil
