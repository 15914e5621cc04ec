cdef class Problem:
    cdef const long long[::1] weights
    cdef const unsigned long long[::1] before
    cdef const unsigned long long[::1] touchers
    cdef const unsigned char[:, ::1] touched
    cdef const long long[::1] room

cdef class Lattice:
    cdef const unsigned long long[::1] sets
    cdef const long long[::1] step_first
    cdef const unsigned char[::1] nodes
    cdef const int[::1] targets
    cdef const long long[::1] live_first
    cdef const unsigned char[::1] live
    cdef const int[::1] classes
