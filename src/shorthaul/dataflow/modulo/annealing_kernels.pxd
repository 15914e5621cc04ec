cdef class Move:
    cdef Py_ssize_t nodes
    cdef long long[::1] node  # those that change times
    cdef long long[::1] at
    cdef Py_ssize_t arcs
    cdef long long[::1] arc  # those that change places
    cdef long long[::1] leader  # what was before each
    cdef long long[::1] lag  # and how many periods away
