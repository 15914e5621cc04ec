cdef class Volume:
    cdef const int[::1] parent
    cdef const long long[::1] room
    cdef const long long[::1] star
    cdef const unsigned char[::1] above
    cdef long long each
    cdef Py_ssize_t most
    cdef double[::1] load
    cdef Py_ssize_t top
    cdef long long[::1] owner
    cdef long long[::1] height
    cdef double[::1] apart
    cdef unsigned char[::1] is_loaded
    cdef double[:, :, ::1] added
    cdef long long[:, ::1] level
    cdef long long[::1] row
    cdef long long[::1] below
    cdef unsigned char[::1] ball
    cdef double[::1] alone
    cdef unsigned char[:, :, ::1] chosen
    cdef double[:, :, ::1] kept
    cdef long long weighed
    cdef long long levels
    cdef bint is_weighed
    cdef double[:, ::1] total

cdef void weigh_all(Volume volume) noexcept nogil
cdef bint is_larger(Volume volume, long long v, Py_ssize_t a, long long levels) noexcept nogil
