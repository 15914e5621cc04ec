from shorthaul.core.compiled.queue_kernels cimport Stack


cdef class Tree:
    cdef const long long[::1] order
    cdef const long long[::1] parent_starts
    cdef const long long[::1] parents
    cdef const long long[::1] weights
    cdef const long long[::1] operands
    cdef const long long[::1] twin_needs
    cdef const unsigned char[::1] is_root
