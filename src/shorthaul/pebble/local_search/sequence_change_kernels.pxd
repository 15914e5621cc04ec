from shorthaul.pebble.local_search.sequence_state_kernels cimport Board, Change, Sequence

cpdef bint attempt(Board b, Sequence s, Change c) noexcept nogil
cpdef void accept(Board b, Sequence s, Change c) noexcept nogil
cpdef void reject(Board b, Sequence s, Change c) noexcept nogil
