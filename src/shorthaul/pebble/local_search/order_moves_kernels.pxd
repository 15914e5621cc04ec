from shorthaul.core.compiled.random_kernels cimport Random


cdef class Graph:
    cdef readonly const long long[::1] starts
    cdef readonly const long long[::1] parents
    cdef readonly const long long[::1] child_starts
    cdef readonly const long long[::1] children
    cdef readonly const long long[::1] weights
    cdef readonly const unsigned char[::1] given


cdef class Cooling:
    cdef Random random
    cdef readonly long long step
    cdef long long steps
    cdef readonly long long work
    cdef public double most_work
    cdef double hot
    cdef double cold
    cdef readonly double penalty


cdef class Mover:
    cdef Graph graph
    cdef readonly long long[::1] order
    cdef readonly long long[::1] changed
    cdef long long[::1] mark
    cdef long long[::1] held
    cdef long long stamp

cdef bint goes_on(Cooling cooling) noexcept nogil
cdef long long allowance(Cooling cooling) noexcept nogil
cdef bint moves_run(Mover mover, long long first, long long length, long long target) noexcept nogil
