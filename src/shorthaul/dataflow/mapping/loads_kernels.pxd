from shorthaul.core.compiled.random_kernels cimport Random
from shorthaul.dataflow.mapping.mapping_kernels cimport Genotypes, Mapping, Problem

cdef class Loads:
    cdef Problem problem
    cdef Mapping mapping
    cdef bint common_tile
    cdef long long extra
    cdef readonly long long[::1] price
    cdef const long long[:, ::1] able
    cdef const long long[::1] able_count
    cdef bint flips
    cdef const unsigned char[::1] fixed
    cdef bint exchanges
    cdef Genotypes one
    cdef readonly Genotypes best
    cdef readonly long long best_load
    cdef double best_energy
    cdef readonly long long best_bytes
    cdef readonly long long best_price
    cdef long long[::1] place
    cdef long long[::1] used
    cdef long long[::1] load
    cdef long long[::1] count
    cdef long long paid
    cdef long long bytes
    cdef readonly long long steps
    cdef long long[::1] out
    cdef long long out_count
    cdef unsigned char[::1] is_out
    cdef long long[::1] old_place
    cdef signed char[::1] old_decision
    cdef long long[::1] moved
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
