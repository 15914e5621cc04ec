from shorthaul.dataflow.modulo.differences_kernels cimport Differences

cdef class Resources:
    cdef const long long[::1] starts
    cdef const long long[::1] members
    cdef long long[:, ::1] seen  # the difference between y and x that the rest was worked out from
    cdef unsigned char[::1] changed  # per task, that one of its differences is new since conclusions were drawn from them
    cdef long long[:, ::1] turn  # how many periods that turn is from y's own start
    cdef long long[:, ::1] early  # when it starts at the least
    cdef long long[:, ::1] late  # when it starts at the most
    cdef long long[:, ::1] shift  # ``turn`` in ticks, NEVER where it is not certain; the others hold only where it is
    cdef long long[:, ::1] lead  # lead[y, x]: ticks from x's end to y's start at the least
    cdef long long[::1] length  # durations of the tasks
    cdef long long[::1] parts  # durations of tasks that may lie between two others
    cdef long long[::1] sums
    cdef long long[::1] order

cdef bint propagate(Differences differences, Resources on, bint is_thorough) noexcept nogil
