cdef class Random:
    cdef public unsigned long long state
    cdef unsigned long long word(self) noexcept nogil
    cdef double real(self) noexcept nogil
    cdef long long below(self, long long count) noexcept nogil
