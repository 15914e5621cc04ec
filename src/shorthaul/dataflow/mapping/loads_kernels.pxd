from shorthaul.core.compiled.random_kernels cimport Random
from shorthaul.dataflow.mapping.mapping_kernels cimport Genotypes, Mapping, Problem

cdef class Loads:
    cdef Problem problem
    cdef Mapping mapping  # whose multicasts are replaced, and so which channels are one buffer
    cdef bint common_tile
    cdef long long extra
    cdef readonly long long[::1] price  # per core, in millionths
    cdef const long long[:, ::1] able  # the cores that can run each actor
    cdef const long long[::1] able_count
    cdef bint flips  # whether multicasts may be replaced and kept again
    cdef const unsigned char[::1] fixed  # actors that stay where they are
    cdef bint exchanges  # whether buffers of actors that move go where there is room, and put one another out
    cdef Genotypes one  # the mapping
    cdef readonly Genotypes best
    cdef readonly long long best_load  # -1 where nothing within the budget was found
    cdef double best_energy
    cdef readonly long long best_bytes
    cdef readonly long long best_price
    cdef long long[::1] place  # per buffer, its memory
    cdef long long[::1] used
    cdef long long[::1] load
    cdef long long[::1] count  # actors per core
    cdef long long paid
    cdef long long bytes  # of all buffers
    cdef readonly long long steps
    cdef long long[::1] out  # the buffers taken out of the loads by the move under way
    cdef long long out_count
    cdef unsigned char[::1] is_out
    cdef long long[::1] old_place
    cdef signed char[::1] old_decision
    cdef long long[::1] moved  # the actors it moved, and from where
    cdef long long[::1] moved_from
    cdef long long moved_count

cdef long long near_memory(Loads at, Py_ssize_t b, long long decision) noexcept nogil
cdef void take_out(Loads at, Py_ssize_t b) noexcept nogil
cdef void move(Loads at, Py_ssize_t actor, long long core) noexcept nogil
cdef bint put_back(Loads at, Random random, long long decided) noexcept nogil
cdef void undo(Loads at) noexcept nogil
cdef void forget(Loads at) noexcept nogil
cdef bint rebuild(Loads at) noexcept nogil
cdef long long busiest(Loads at) noexcept nogil
cdef double energy_of(Loads at, long long most, double weight) noexcept nogil
cdef void note(Loads at, long long most) noexcept nogil
