from shorthaul.dataflow.mapping.mapping_kernels cimport Mapping, Problem, Rules

cdef class Schedule:
    cdef readonly long long[::1] start
    cdef readonly long long[::1] need
    cdef long long failed
    cdef readonly long long steps
    cdef long long[::1] tried
    cdef long long[::1] busy
    cdef long long[:, ::1] busy_from
    cdef long long[:, ::1] busy_to
    cdef long long[::1] held
    cdef long long[::1] held_from
    cdef long long[::1] held_ticks
    cdef long long[::1] interval
    cdef long long[::1] turned
    cdef long long[::1] sequence
    cdef Py_ssize_t actors
    cdef long long[::1] actor_of
    cdef long long[::1] waiting
    cdef long long[::1] heap
    cdef unsigned char[::1] allocated

cdef bint schedules(Problem problem, Rules rules, Mapping mapping, Schedule schedule, long long period) noexcept nogil
cdef long long held_since(Rules rules, Mapping mapping, long long writer, long long buffer) noexcept nogil
cdef long long held_until(Problem problem, Rules rules, Mapping mapping, long long edge) noexcept nogil
