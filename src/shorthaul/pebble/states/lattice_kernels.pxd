cdef class Problem:
    cdef const long long[::1] weights
    cdef const unsigned long long[::1] parents
    cdef const unsigned long long[::1] children
    cdef const unsigned char[::1] given
    cdef const long long[::1] room
    cdef const long long[::1] touched_first
    cdef const long long[::1] touched

cdef class Lattice:
    cdef const unsigned long long[::1] sets
    cdef const long long[::1] step_first
    cdef const long long[::1] nodes
    cdef const long long[::1] targets
    cdef const long long[::1] live_first
    cdef const long long[::1] live
    cdef const unsigned long long[::1] masks
    cdef long long count
