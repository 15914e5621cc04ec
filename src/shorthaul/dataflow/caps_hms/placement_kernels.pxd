from shorthaul.dataflow.mapping.mapping_kernels cimport Mapping, Problem, Rules

cdef class Schedule:
    cdef readonly long long[::1] start  # per actor, the start of its first read
    cdef readonly long long[::1] need  # tokens per buffer
    cdef long long failed  # the largest period that could not be scheduled
    cdef readonly long long steps  # searches in busy intervals so far: the work
    cdef long long[::1] tried  # starts at the period that is tried
    cdef long long[::1] busy  # intervals per resource, sorted
    cdef long long[:, ::1] busy_from
    cdef long long[:, ::1] busy_to
    cdef long long[::1] held  # what the firing to place holds: its resources, the busiest first
    cdef long long[::1] held_from  # from when in the firing
    cdef long long[::1] held_ticks
    cdef long long[::1] interval  # the first busy one that ends later, and in which period that is
    cdef long long[::1] turned
    cdef long long[::1] sequence  # the actors in the order in which they are placed
    cdef Py_ssize_t actors
    cdef long long[::1] actor_of  # by rank
    cdef long long[::1] waiting
    cdef long long[::1] heap
    cdef unsigned char[::1] allocated  # cores

cdef bint schedules(Problem problem, Rules rules, Mapping mapping, Schedule schedule, long long period) noexcept nogil
cdef long long held_since(Rules rules, Mapping mapping, long long writer, long long buffer) noexcept nogil
cdef long long held_until(Problem problem, Rules rules, Mapping mapping, long long edge) noexcept nogil
