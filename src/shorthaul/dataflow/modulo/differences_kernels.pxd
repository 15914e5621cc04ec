cdef class Differences:
    cdef long long period
    cdef double inverse
    cdef const long long[::1] duration
    cdef const long long[:, ::1] before
    cdef const long long[:, ::1] after
    cdef const long long[:, ::1] ticks
    cdef long long[:, ::1] least
    cdef long long[::1] flat  # the same, row by row
    cdef long long[::1] turns
    cdef Py_ssize_t open
    cdef long long visit
    cdef long long[:, ::1] noted  # at which visit an entry was noted last
    cdef long long[::1] cell
    cdef long long[::1] value
    cdef Py_ssize_t kept
    cdef long long[::1] reached  # nodes, and how much further on they are at least
    cdef long long[::1] further
    cdef long long low  # the k that a turn leaves possible
    cdef long long high
    cdef readonly long long steps  # entries and pairs looked at so far: the work

cdef bint tighten(Differences differences, long long i, long long j, long long ticks) noexcept nogil
cdef void undo(Differences differences, Py_ssize_t kept, Py_ssize_t undecided) noexcept nogil
cdef void find_options(Differences differences, Py_ssize_t t) noexcept nogil
cdef long long periods_in(Differences differences, long long ticks) noexcept nogil
