from shorthaul.tensor.search.change_kernels cimport Moves

cdef bint duplicate(Moves moves, long long source, long long consumer, long long tensor) noexcept nogil
cdef bint repeat(Moves moves, long long consumer, long long source, long long tensor) noexcept nogil
cdef bint gather(Moves moves) noexcept nogil
