cdef class Heap:
    cdef double[::1] keys
    cdef long long[::1] items
    cdef readonly Py_ssize_t size
    cdef void push(self, double key, long long item) noexcept nogil
    cdef void pop(self) noexcept nogil
    cdef object _grow(self)

cdef class Stack:
    cdef long long[::1] items
    cdef readonly Py_ssize_t size
    cdef void push(self, long long item) noexcept nogil
    cdef object _grow(self)
