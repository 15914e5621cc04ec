cdef class States:
    cdef unsigned long long[::1] sets
    cdef long long[:, ::1] numbers
    cdef long long[::1] table
    cdef long long width
    cdef public long long filled

cdef bint insert(States states) noexcept nogil
