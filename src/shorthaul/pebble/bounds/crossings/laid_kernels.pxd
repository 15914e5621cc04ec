cdef bint lay(
    long long[::1] back, long long[::1] queue, long long[::1] after, long long[::1] before, long long last
) noexcept nogil
cdef void forget(long long[::1] starts, Py_ssize_t count, long long[::1] after, long long[::1] before) noexcept nogil
