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
    cdef long long[::1] moved
    cdef long long[::1] moved_from
    cdef long long moved_count
