from shorthaul.core.compiled.queue_kernels cimport Heap, Stack


cdef class Reads:
    cdef readonly const long long[::1] starts
    cdef readonly const long long[::1] classes
    cdef readonly const long long[::1] reader_starts
    cdef readonly const long long[::1] readers
    cdef readonly const long long[::1] made
    cdef readonly const long long[::1] weights

cdef class Growth:
    cdef Reads reads
    cdef const long long[::1] order
    cdef const unsigned char[::1] is_target
    cdef const long long[::1] child_starts
    cdef const long long[::1] children
    cdef const long long[::1] weights
    cdef long long size
    cdef bint singly
    cdef long long[::1] waiting
    cdef readonly long long[::1] tile
    cdef readonly long long[::1] turn
    cdef unsigned char[::1] is_open
    cdef long long[::1] absent
    cdef long long[::1] missing
    cdef long long[::1] which
    cdef long long[::1] solo
    cdef long long[::1] inside
    cdef long long[::1] taken
    cdef long long classes_taken
    cdef long long tiles
    cdef long long turns
    cdef long long held
    cdef bint is_growing
    cdef Py_ssize_t place
    cdef readonly long long work
    cdef Heap whole
    cdef Heap single
    cdef Stack ready
