from shorthaul.core.compiled.random_kernels cimport Random

cdef class Crowd:
    cdef const int[::1] starts
    cdef const int[::1] near
    cdef const int[::1] weight
    cdef const int[::1] size
    cdef const unsigned char[::1] living
    cdef const long long[::1] sides
    cdef const long long[::1] at
    cdef const long long[::1] first
    cdef const long long[::1] ring
    cdef long long room
    cdef long long most
    cdef readonly int[::1] place
    cdef int[:, ::1] where
    cdef int[::1] head
    cdef int[::1] after
    cdef int[::1] before
    cdef int[::1] count
    cdef long long[::1] used
    cdef readonly long long grown  # hops that all moves together have added
    cdef const unsigned short[:, ::1] ways
    cdef const int[:, ::1] slots
    cdef Py_ssize_t middle  # of the slots of an axis
    cdef bint is_flat
    cdef readonly long long unit  # of hops times weights that moves are accepted by
    cdef long long reads
    cdef Py_ssize_t partner
    cdef long long between
    cdef long long[::1] sum  # scratch space of a median, zero outside

cdef void enter(Crowd crowd, Py_ssize_t v, long long cell) noexcept nogil
cdef void leave(Crowd crowd, Py_ssize_t v) noexcept nogil
cdef long long beside(Crowd crowd, long long cell, unsigned long long bits) noexcept nogil
cdef bint is_accepted(
    Crowd crowd, Random random, const unsigned long long[::1] accepted, long long worse
) noexcept nogil
