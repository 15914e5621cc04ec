from shorthaul.core.compiled.queue_kernels cimport Heap

cdef class Net:
    cdef const int[:, ::1] links
    cdef const long long[::1] sides
    cdef const long long[::1] strides
    cdef const long long[::1] at
    cdef const long long[::1] first
    cdef const long long[::1] ring
    cdef long long[::1] away
    cdef int[::1] reached
    cdef int[::1] path
    cdef unsigned char[::1] turn
    cdef Py_ssize_t count
    cdef Heap heap

cdef long long beyond(Net net, long long cell, Py_ssize_t way) noexcept nogil
cdef long long way_along(Net net, long long cell, long long goal) noexcept nogil
cdef long long way_back(Net net, long long cell) noexcept nogil
cdef bint is_free(Net net, long long cell, long long goal) noexcept nogil
cdef bint is_direct(Net net, long long cell, long long goal) noexcept nogil
cdef void search(Net net, long long source, unsigned char[::1] wanted, long long missing, long long goal) noexcept nogil
