cdef bint lay(
    long long[::1] back, long long[::1] queue, long long[::1] after, long long[::1] before, long long last
) noexcept nogil
cdef void forget(long long[::1] starts, Py_ssize_t count, long long[::1] after, long long[::1] before) noexcept nogil
cdef Py_ssize_t walk(
    long long[::1] queue, long long node, const long long[::1] starts, const long long[::1] links,
    long long[::1] marks, long long part, const long long[::1] key, long long lowest, Py_ssize_t most
) noexcept nogil
