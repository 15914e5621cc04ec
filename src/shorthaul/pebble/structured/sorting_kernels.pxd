cdef class Sorter:
    cdef long long[::1] keys
    cdef long long[::1] places
    cdef long long[::1] spare
    cdef void number(self, Py_ssize_t count) noexcept nogil
    cdef void sort(self, Py_ssize_t count) noexcept nogil
    cdef void merge(self, Py_ssize_t first, Py_ssize_t middle, Py_ssize_t last) noexcept nogil
