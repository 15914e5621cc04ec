cdef class Problem:
    cdef readonly const long long[:, ::1] tau
    cdef readonly const long long[::1] multicast_of
    cdef readonly const long long[::1] feeding
    cdef readonly const long long[::1] src
    cdef readonly const long long[::1] dst
    cdef readonly const long long[::1] token_bytes
    cdef readonly const long long[::1] delay
    cdef readonly const long long[:, ::1] ticks
    cdef readonly const long long[::1] core_type
    cdef readonly const long long[::1] core_tile
    cdef readonly const double[::1] core_cost
    cdef readonly const long long[::1] limits

cdef class Rules:
    cdef readonly const long long[::1] rank
    cdef readonly bint atomic
    cdef readonly bint common_tile
    cdef readonly double tolerance

cdef class Genotypes:
    cdef readonly signed char[::1] compact
    cdef readonly signed char[:, ::1] xi
    cdef readonly signed char[:, ::1] decision
    cdef readonly long long[:, ::1] binding

cdef class Groups:
    cdef readonly long long[::1] members
    cdef readonly long long[::1] starts

cdef class Mapping:
    cdef readonly signed char[::1] xi
    cdef readonly signed char[::1] decision
    cdef readonly long long[::1] binding
    cdef readonly bint compact
    cdef readonly unsigned char[::1] live
    cdef readonly long long[::1] root
    cdef readonly Groups reads
    cdef readonly Groups writes
    cdef readonly Groups readers
    cdef readonly long long[::1] capacity
    cdef readonly long long[::1] memory
    cdef readonly long long[::1] used
    cdef readonly long long[::1] execution_ticks
    cdef readonly long long[::1] execution
    cdef readonly long long[::1] total
    cdef readonly long long[::1] duration
    cdef readonly long long[::1] offset
    cdef readonly long long[::1] crossings
    cdef readonly long long[:, ::1] crossed
    cdef readonly long long[::1] load
    cdef readonly long long[::1] blocks
    cdef readonly long long[::1] block_resource
    cdef readonly long long[::1] block_offset
    cdef readonly long long[::1] block_ticks
    cdef long long[::1] consumer
    cdef long long[:, ::1] votes
    cdef long long[::1] last_block
    cdef unsigned char[::1] kept

cdef long long floor_division(long long number, long long divisor) noexcept nogil
cdef void take_genotype(Problem problem, Mapping mapping, Genotypes genotypes, Py_ssize_t number) noexcept nogil
cdef void find_consumers(Problem problem, Rules rules, Mapping mapping) noexcept nogil
cdef bint bind_channels(Problem problem, Mapping mapping) noexcept nogil
cdef void lay_out(Problem problem, Mapping mapping) noexcept nogil
