from shorthaul.tensor.search.sequence_kernels cimport Sequences

cdef int evaluate(Sequences sequences) noexcept nogil
cdef int trace(Sequences sequences) noexcept nogil
cdef int link(Sequences sequences) noexcept nogil
cdef void accept(Sequences sequences) noexcept nogil
