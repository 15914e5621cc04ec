from shorthaul.dataflow.modulo.differences_kernels cimport Differences

cdef class Resources:
    cdef const long long[::1] starts
    cdef const long long[::1] members
    cdef long long[:, ::1] seen
    cdef unsigned char[::1] changed
    cdef long long[:, ::1] turn
    cdef long long[:, ::1] early
    cdef long long[:, ::1] late
    cdef long long[:, ::1] shift
    cdef long long[:, ::1] lead
    cdef long long[::1] length
    cdef long long[::1] parts
    cdef long long[::1] sums
    cdef long long[::1] order

cdef bint propagate(Differences differences, Resources on, bint is_thorough) noexcept nogil
