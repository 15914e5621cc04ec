cdef class Differences:
    cdef long long period
    cdef const long long[::1] duration
    cdef const long long[:, ::1] before
    cdef const long long[:, ::1] after
    cdef const long long[:, ::1] ticks
    cdef long long[:, ::1] least
    cdef unsigned char[::1] decided
    cdef long long[::1] reached
    cdef long long[::1] further
    cdef long long low
    cdef long long high
    cdef readonly long long steps

cdef class Resources:
    cdef const long long[::1] starts
    cdef const long long[::1] members
    cdef long long[:, ::1] turn
    cdef long long[:, ::1] early
    cdef long long[:, ::1] late
    cdef unsigned char[:, ::1] sure
    cdef long long[:, ::1] shift
    cdef long long[:, ::1] lead
    cdef long long[::1] length
    cdef long long[::1] parts
    cdef long long[::1] sums
    cdef long long[::1] order

cdef bint tighten(Differences differences, long long i, long long j, long long ticks) noexcept nogil
cdef void find_options(Differences differences, Py_ssize_t t) noexcept nogil
cdef bint propagate(Differences differences, Resources on) noexcept nogil
