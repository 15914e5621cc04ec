from shorthaul.pebble.local_search.order_moves_kernels cimport Graph


cdef class Frame:
    cdef const long long[::1] first_state
    cdef const long long[::1] first_red
    cdef const long long[::1] after
    cdef const long long[::1] last_red
    cdef const long long[::1] last_saved


cdef class Replay:
    cdef Graph graph
    cdef Frame frame
    cdef long long budget
    cdef readonly long long[::1] order
    cdef public long long count
    cdef long long[::1] upcoming
    cdef long long[::1] place
    cdef long long[::1] pinned
    cdef long long[::1] state
    cdef long long[::1] red
    cdef long long[::1] chosen
    cdef long long[::1] read
    cdef long long[::1] made
    cdef long long size
    cdef long long room
    cdef long long cost
    cdef readonly long long work

cpdef long long excess(Replay replay, double penalty, long long limit) noexcept nogil
